#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "runtime/optimizer/schedules_of_host.h"
#include "runtime/optimizer/worker_server.h"
#include "search/schedule_store.h"

#ifdef __SANITIZE_THREAD__
/// Z3 is not built for ThreadSanitizer, which takes its timers for races.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "called_from_lib:libz3.so\nrace:libz3.so\nthread:libz3.so\nmutex:libz3.so\nsignal:libz3.so\n";
}
#endif

namespace {

/// Trial after trial takes large arrays: with fresh pages for each of them, faults took a third of the time.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int most_kept = 256 << 20;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, most_kept);
#endif
}

}  // namespace

int main(int argument_count, char** arguments) {
  using namespace axrun;
  keep_freed_memory();
  const auto schedules = std::make_shared<runtime::SchedulesOfHost>(runtime::host_socket);
  return runtime::serve_requests(
      argument_count, arguments,
      [&](const runtime::WorkerRequest& request, const runtime::JudgeReports& reports) {
        search::keep_schedules_in(request.keeps_schedules ? schedules : nullptr);
        return runtime::judge_candidate(request, reports, search::lower);
      });
}
