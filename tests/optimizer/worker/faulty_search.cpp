// The worker program with a fault planted in its search. In its lowering: FAULT_IN_LOWERING says which,
// FAULTY_STAGE in expressions with what in their text. In what else it searches: FAULT_IN_SEARCH says which,
// FAULTY_SEARCH at what stage of it. Everything else is as in the worker itself.

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/text.h"
#include "runtime/optimizer/worker_server.h"
#include "search/lowering.h"

namespace axrun::runtime {
namespace {

volatile int* volatile nowhere = reinterpret_cast<volatile int*>(8);
std::atomic<int> spins{0};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The first few workers that share the file of this name end so.
bool is_one_of_the_first(int count, const std::string& file) {
  const auto before = std::filesystem::exists(file) ? std::filesystem::file_size(file) : 0;
  std::ofstream(file, std::ios::app) << '.';
  return before < static_cast<uintmax_t>(count);
}

void fail_as(const std::string& what) {
  // As without sanitizers, which have handlers of their own.
  for (const int fatal : {SIGSEGV, SIGILL, SIGBUS, SIGABRT}) signal(fatal, SIG_DFL);
  std::vector<int> none;
  if (what == "segmentation fault once" && is_one_of_the_first(1, variable("FAULT_COUNT"))) *nowhere = 1;
  if (what == "segmentation fault") *nowhere = 1;
  // As in find_mapped_windows once: the standard library's own check, where it is built in.
  if (what == "assertion" && none.back() == 0) ++spins;
  if (what == "exception") throw std::out_of_range("vector::at");
  if (what == "endless loop") {
    for (;;) ++spins;
  }
  if (what == "killed") kill(getpid(), SIGKILL);
  if (what == "killed twice" && is_one_of_the_first(2, variable("FAULT_COUNT"))) kill(getpid(), SIGKILL);
}

search::Lowered lower(const ir::Program& expression, const search::Sizes& sizes,
                      const std::vector<bool>& constant, const jit::Target& target, size_t rank) {
  const std::string where = variable("FAULTY_STAGE");
  if (ir::print(expression).find(where) != std::string::npos) fail_as(variable("FAULT_IN_LOWERING"));
  return search::lower(expression, sizes, constant, target, rank);
}

WorkerReply judge(const WorkerRequest& request, const JudgeReports& reports) {
  JudgeReports watched = reports;
  watched.entering = [&](WorkerStage stage) {
    reports.entering(stage);
    if (request.search && name_of(stage) == variable("FAULTY_SEARCH")) fail_as(variable("FAULT_IN_SEARCH"));
  };
  return judge_candidate(request, watched, lower);
}

}  // namespace
}  // namespace axrun::runtime

int main(int argument_count, char** arguments) {
  return axrun::runtime::serve_requests(argument_count, arguments, axrun::runtime::judge);
}
