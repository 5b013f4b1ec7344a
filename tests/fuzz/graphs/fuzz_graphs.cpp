// Random graphs of 3 to 15 nodes, answered by both tiers: fuzz_graphs [--count N] [--seed S] [--first K]
//   [--test-judge]       makes a mistake in every right answer; fails where it sees fewer than 9 of 10
//   [--optimized]        generated kernels instead of precompiled ones, once nothing is left to swap in
//   [--kept FOLDER]      tries its cases first
//   [--failures FOLDER]  failing models are made smaller and written there, one folder each
//   [--write FOLDER]     writes models, of which every value is a result, with inputs and the reference's
//   results for ONNX Runtime; compares nothing
// Graph K of seed S is the same everywhere; a seed that is not given is a fresh one, and printed first.
// Models run in a child of this process: one that crashes or hangs is counted, and the next child goes on
// behind it. Exit 1 where something failed.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "tests/fuzz/graphs/recipes.h"
#include "tests/fuzz/graphs/trial.h"

namespace axrun::tests {
namespace {

namespace fs = std::filesystem;

/// Seconds that one model may take.
constexpr unsigned patience = 60, patience_optimized = 240;

struct Options {
  uint64_t seed = 0, first = 0, count = 200;
  Answering answering = Answering::fallback;
  bool tests_judge = false;
  std::string kept, failures, write;
};

/// Shared with the child, which leaves it where it ends.
struct Progress {
  uint64_t next = 0;  ///< the model that is being tried
  uint64_t nodes = 0, outputs = 0, with_generated = 0, with_bodies = 0;
  uint64_t verdicts[verdict_count] = {};
  uint64_t mistakes = 0, noticed = 0;
  char why[512] = {};
};

template <class T>
T* shared_memory() {
  void* const memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(70);
  return new (memory) T;
}

/// Of a child; sanitizers end a process with 1.
constexpr int exit_badly = 3;

/// What a child came to that ran this.
enum class End { well, badly, crashed };

template <class Work>
End in_child(const Work& work, bool quiet) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) std::exit(70);
  if (child == 0) {
    if (quiet) {
      const int nowhere = open("/dev/null", O_WRONLY);
      dup2(nowhere, 2);
    }
    const bool well = work();
    std::fflush(stdout);
    _exit(well ? 0 : exit_badly);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) return End::crashed;
  const int code = WEXITSTATUS(status);
  return code == 0 ? End::well : code == exit_badly ? End::badly : End::crashed;
}

/// What differs is met at the node that makes it.
void want_everything(ir::Graph& graph) {
  graph.outputs.clear();
  for (const ir::Node& node : graph.nodes) {
    std::copy_if(node.outputs.begin(), node.outputs.end(), std::back_inserter(graph.outputs),
                 [](ir::ValueId id) { return id != ir::absent; });
  }
}

class Campaign {
 public:
  explicit Campaign(Options options)
      : options_(std::move(options)),
        progress_(shared_memory<Progress>()),
        limit_(options_.answering == Answering::optimized ? patience_optimized : patience) {}

  int run() {
    fmt::print("seed {}\n", options_.seed);
    std::fflush(stdout);
    const auto start = std::chrono::steady_clock::now();
    int failed = try_kept();
    progress_->next = options_.first;
    const uint64_t end = options_.first + options_.count;
    while (progress_->next < end) {
      const End how = in_child([&] { return try_from(progress_->next, end); }, false);
      if (how == End::well) continue;
      ++failed;
      const std::string what = how == End::crashed ? "crashes or hangs" : progress_->why;
      report(progress_->next, what, how);
      ++progress_->next;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const Progress& p = *progress_;
    fmt::print(
        "seed {}, graphs {} to {}: {} nodes, {} graphs with bodies, {} results compared; runs: {} the same, "
        "{} explained by rounding, {} refused by both, {} decided by rounding, {} different; {} failures, "
        "{:.0f} graphs a second",
        options_.seed, options_.first, end, p.nodes, p.with_bodies, p.outputs, p.verdicts[0], p.verdicts[1],
        p.verdicts[2], p.verdicts[3], p.verdicts[4], failed,
        static_cast<double>(options_.count) / std::max(seconds.count(), 1e-3));
    if (options_.answering == Answering::optimized)
      fmt::print("; generated kernels in force in {}", p.with_generated);
    if (options_.tests_judge) {
      fmt::print("; {} of {} mistakes noticed", p.noticed, p.mistakes);
      if (10 * p.noticed < 9 * p.mistakes) ++failed;
    }
    fmt::print("\n");
    return failed == 0 ? 0 : 1;
  }

  int write() {
    const auto pool = runtime::ThreadPool::make(1);
    for (uint64_t k = options_.first; k < options_.first + options_.count; ++k) {
      const std::string folder = (fs::path(options_.write) / fmt::format("{:07}", k)).string();
      in_child(
          [&] {
            const GrownModel grown = grow_model(options_.seed, k, true, *pool);
            want_everything(*grown.model.graph);
            write_case(grown, folder, true);
            return true;
          },
          true);
    }
    return 0;
  }

 private:
  bool try_from(uint64_t first, uint64_t end) {
    const auto pool = runtime::ThreadPool::make(1);
    for (uint64_t k = first; k < end; ++k) {
      progress_->next = k;
      alarm(limit_);
      const GrownModel grown = grow_model(options_.seed, k, false, *pool);
      if (!is_right(grown)) return false;
    }
    alarm(0);
    progress_->next = end;
    return true;
  }

  bool is_right(const GrownModel& grown) {
    if (grown.model.graph->outputs.empty()) return true;
    const Trial trial = try_model(grown, options_.answering, options_.tests_judge);
    const auto& nodes = grown.model.graph->nodes;
    progress_->nodes += nodes.size();
    progress_->with_bodies += std::any_of(nodes.begin(), nodes.end(),
                                          [](const ir::Node& node) { return !ir::bodies_of(node).empty(); })
                                  ? 1
                                  : 0;
    progress_->outputs += static_cast<uint64_t>(trial.outputs);
    progress_->mistakes += static_cast<uint64_t>(trial.mistakes);
    progress_->noticed += static_cast<uint64_t>(trial.noticed);
    progress_->with_generated += trial.generated > 0 ? 1 : 0;
    for (const Judgement& run : trial.runs) ++progress_->verdicts[static_cast<int>(run.verdict)];
    const Judgement* const fault = trial.fault();
    if (fault == nullptr) return true;
    std::strncpy(progress_->why, fault->why.c_str(), sizeof progress_->why - 1);
    return false;
  }

  int try_kept() {
    if (options_.kept.empty()) return 0;
    int failed = 0, tried = 0;
    std::vector<std::string> folders;
    for (const auto& entry : fs::directory_iterator(options_.kept)) {
      if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path().string());
    }
    std::sort(folders.begin(), folders.end());
    for (const std::string& folder : folders) {
      ++tried;
      const End how = in_child(
          [&] {
            alarm(limit_);
            return is_right(read_case(folder));
          },
          false);
      if (how == End::well) continue;
      ++failed;
      fmt::print("kept {}: {}\n", folder, how == End::crashed ? "crashes or hangs" : progress_->why);
    }
    fmt::print("{} kept cases, {} failures\n", tried, failed);
    return failed;
  }

  void report(uint64_t number, const std::string& what, End how) {
    fmt::print("seed {} graph {}: {}\n", options_.seed, number, what);
    std::fflush(stdout);
    if (options_.failures.empty()) return;
    const std::string folder =
        (fs::path(options_.failures) / fmt::format("seed{}_{}", options_.seed, number)).string();
    // In a child: growing alone may be what crashes. Every step of the way is written, the smallest last.
    in_child(
        [&] {
          const auto pool = runtime::ThreadPool::make(1);
          GrownModel grown = grow_model(options_.seed, number, false, *pool);
          write_case(grown, folder, false);
          const std::string kind = kind_of(what);
          grown =
              shrunk(std::move(grown), [&](const GrownModel& smaller) { return fails(smaller, how, kind); });
          fs::remove_all(folder);
          write_case(grown, folder, false);
          return true;
        },
        true);
    in_child(
        [&] {
          fmt::print("  smallest: {} in {}\n", described(*read_case(folder).model.graph), folder);
          return true;
        },
        true);
  }

  /// Failures of one kind look alike but for numbers and names.
  static std::string kind_of(const std::string& what) {
    std::string kind;
    for (const char c : what.substr(0, 60)) {
      if (std::isalpha(static_cast<unsigned char>(c)) != 0) kind += c;
    }
    return kind.substr(0, 24);
  }

  bool fails(const GrownModel& grown, End how, const std::string& kind) {
    Progress* apart = shared_memory<Progress>();
    std::swap(apart, progress_);
    const End now = in_child(
        [&] {
          alarm(limit_);
          return is_right(grown);
        },
        true);
    std::swap(apart, progress_);
    const bool same = now == how && (how == End::crashed || kind_of(apart->why) == kind);
    munmap(apart, sizeof *apart);
    return same;
  }

  static std::string described(const ir::Graph& graph) {
    std::string text;
    for (const ir::Node& node : graph.nodes) {
      text += fmt::format("{}{}{}(", text.empty() ? "" : "; ", node.domain.empty() ? "" : node.domain + ".",
                          node.op);
      for (const ir::ValueId id : node.inputs) {
        if (id == ir::absent) {
          text += "-, ";
          continue;
        }
        const ir::Value& value = graph.value(id);
        const bool is_input = std::find(graph.inputs.begin(), graph.inputs.end(), id) != graph.inputs.end();
        text += value.constant.defined() ? fmt::format("constant {}{}, ", ir::name_of(value.constant.type()),
                                                       ir::to_string(ir::to_dims(value.constant.shape())))
                : is_input               ? fmt::format("{}{}, ", ir::name_of(value.type),
                                         value.dims ? ir::to_string(*value.dims) : "")
                                         : fmt::format("{}, ", value.name);
      }
      text += ")";
      for (const ir::ValueId id : node.outputs) text += id == ir::absent ? " -" : " " + graph.value(id).name;
    }
    return text;
  }

  Options options_;
  Progress* progress_;
  unsigned limit_;
};

Options parse(int count, char** arguments) {
  Options options;
  options.seed = std::random_device()();
  for (int k = 1; k < count; ++k) {
    const std::string_view name = arguments[k];
    if (name == "--optimized") {
      options.answering = Answering::optimized;
      continue;
    }
    if (name == "--test-judge") {
      options.tests_judge = true;
      continue;
    }
    const char* const value = k + 1 < count ? arguments[++k] : "";
    const auto number = [&] { return std::strtoull(value, nullptr, 10); };
    if (name == "--seed")
      options.seed = number();
    else if (name == "--first")
      options.first = number();
    else if (name == "--count")
      options.count = number();
    else if (name == "--kept")
      options.kept = value;
    else if (name == "--failures")
      options.failures = value;
    else if (name == "--write")
      options.write = value;
    else {
      fmt::print(stderr, "fuzz_graphs has no option {}; its first lines list what it has\n", name);
      std::exit(1);
    }
  }
  return options;
}

}  // namespace
}  // namespace axrun::tests

int main(int count, char** arguments) {
  using namespace axrun::tests;
  const Options options = parse(count, arguments);
  if (options.answering == Answering::optimized) {
    setenv("AXRUN_SWAP", "always", 1);
    setenv("AXRUN_OPTIMIZE", "1", 1);
    setenv("AXRUN_OPTIMIZER_PRIORITY", "normal", 1);
  }
  Campaign campaign(options);
  return options.write.empty() ? campaign.run() : campaign.write();
}
