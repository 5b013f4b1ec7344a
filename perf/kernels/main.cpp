// Single operators: axrun's kernels, the same operator of oneDNN and OpenBLAS, and what the machine allows,
// measured in turns of a few milliseconds in one run (interleave.h).
//
//   bench_kernels [--threads=1,4] [--rounds=N] [--benchmark_filter=REGEX] [--benchmark_format=json]
//                 [--benchmark_out=FILE]
//
// Exit codes: 0, 1 for a mistake on the command line, 3 when a library's result is not axrun's (which is then
// not timed).
#include <benchmark/benchmark.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>
#include <string_view>

#include "perf/kernels/table.h"
#include "perf/kernels/workload.h"
#include "perf/limits/fma_peak.h"

namespace axrun::perf {
namespace {

enum ExitCode { agreed = 0, user_error = 1, numeric_mismatch = 3 };

/// Idle threads of OpenBLAS and of OpenMP go on spinning for tens of milliseconds, on the processors of
/// whoever is measured next. They read these variables when they are loaded, hence the second start of this
/// program. About half a millisecond remains: calls that follow each other still find the threads awake.
void prepare_environment(char** argv) {
  constexpr const char* mark = "AXRUN_PERF_RESTARTED";
  if (std::getenv(mark) != nullptr) {
    unsetenv(mark);
    return;
  }
  setenv(mark, "1", 1);
  setenv("OPENBLAS_THREAD_TIMEOUT", "20", 0);  // the logarithm of processor cycles
  setenv("GOMP_SPINCOUNT", "5000", 0);
#ifdef AXRUN_PERF_OPENCL
  setenv("OCL_ICD_FILENAMES", AXRUN_PERF_OPENCL, 0);  // of the oneDNN that runs in it
#endif
  execv("/proc/self/exe", argv);
  unsetenv(mark);  // it could not be started again: go on as it is
}

int processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

/// The number at the start of the text; nothing if there is none in [1, 1024] or more follows.
std::optional<int> number_of(const std::string& text) {
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || *end != '\0' || number < 1 || number > 1024) return std::nullopt;
  return static_cast<int>(number);
}

std::optional<std::vector<int>> numbers_of(std::string_view list) {
  std::vector<int> numbers;
  std::istringstream parts{std::string(list)};
  for (std::string part; std::getline(parts, part, ',');) {
    const auto number = number_of(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers.empty() ? std::nullopt : std::optional(numbers);
}

struct Options {
  std::vector<int> threads;
  Schedule schedule;
  bool table = true;
};

/// Takes out the options that are not the benchmark library's; nothing on a mistake, which it prints.
std::optional<Options> parse(int& argc, char** argv) {
  Options options;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = argument.substr(std::min(argument.find('=') + 1, argument.size()));
    const bool threads = argument.starts_with("--threads="), rounds = argument.starts_with("--rounds=");
    if (argument == "--help") {
      std::cout << "bench_kernels [--threads=N,N...]  (1 and all processors)\n"
                   "              [--rounds=N]        (at most 12, as far as a second per case goes)\n";
    }
    if (argument.starts_with("--benchmark_format=")) options.table = value == "console";
    if (!threads && !rounds) {
      argv[kept++] = argv[i];
      continue;
    }
    const auto numbers = numbers_of(value);
    if (!numbers || (rounds && numbers->size() > 1)) {
      std::cerr << "bench_kernels: " << argument << ": expected " << (rounds ? "a number" : "numbers")
                << " from 1 to 1024\n";
      return std::nullopt;
    }
    if (threads) options.threads = *numbers;
    if (rounds) {
      options.schedule.rounds = options.schedule.least_rounds = numbers->front();
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  if (options.threads.empty()) {
    options.threads = {1};
    if (processors() > 1) options.threads.push_back(processors());
  }
  return options;
}

int run(int argc, char** argv) {
  const std::optional<Options> options = parse(argc, argv);
  if (!options) return user_error;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return user_error;

  Bench bench(options->threads, options->schedule);
  add_matrix_products(bench);
  add_vector_products(bench);
  add_convolutions(bench);
  add_prism_workloads(bench);

  std::vector<std::string> peers;
  for (const auto& library : bench.libraries()) {
    benchmark::AddCustomContext(library->name(), library->version());
    if (library != bench.libraries().front()) peers.push_back(library->name());
  }
  benchmark::AddCustomContext("peak", f32_peak(runtime::best_isa_level()).name);
  TableReporter table(peers);
  benchmark::RunSpecifiedBenchmarks(options->table ? &table : nullptr);
  return bench.agreed() ? agreed : numeric_mismatch;
}

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  axrun::perf::prepare_environment(argv);
  return axrun::perf::run(argc, argv);
}
