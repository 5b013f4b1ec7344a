#include "runtime/optimizer/worker_server.h"

#ifdef __SANITIZE_THREAD__
/// Z3 is not built for ThreadSanitizer, which takes its timers for races.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "called_from_lib:libz3.so\nrace:libz3.so\nthread:libz3.so\nmutex:libz3.so\nsignal:libz3.so\n";
}
#endif

int main(int argument_count, char** arguments) {
  return axrun::runtime::serve_requests(argument_count, arguments, axrun::runtime::judge_candidate);
}
