// Generated kernels against the limit of one core: bench_generated [--rounds N] [--cores N] [--cold]
// [--dump CASE] [CASE...]
//
// A case is product_MxKxN, product_MxKxN_bias_gelu, softmax_MxN, layer_norm_MxN, lstm_STEPSxINPUTSxHIDDEN,
// gru_STEPSxINPUTSxHIDDEN, gru_STEPSxINPUTSxHIDDEN_lengths, attention_HEADSxQUERIESxKEYSxSIZE, one of
// planes.h, step:NODE:MODEL (model_step.h), or FLOPS:FILE, a loop program that does FLOPS operations at its
// lowest sizes.
//
// Every case is lowered, compiled and run as the optimiser does it, on one thread, with constant operands
// prepared. Rounds of all cases are interleaved, and the multiply-add peak is measured before and after each
// run; a product followed by @1, @2, ... is written by an alternative to its default schedule. A case's
// figures are medians over its rounds, the peak in the headline is the best one seen. `--dump
// CASE` prints the case's loop program and assembly; with `--cold`, everything is in memory before a run.
// AXRUN_ISA restricts the machine, as elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ir/error.h"
#include "jit/calibrate.h"
#include "jit/detect.h"
#include "jit/kernel_code.h"
#include "perf/generated/cases.h"
#include "perf/generated/model_step.h"
#include "perf/kernels/array.h"
#include "perf/kernels/interleave.h"
#include "search/lowering.h"

namespace axrun::perf {
namespace {

struct Ready {
  GeneratedCase from;
  std::shared_ptr<const jit::KernelCode> code;
  std::unique_ptr<jit::BoundKernel> kernel;
  std::vector<Array<float>> memory;  ///< of inputs and outputs
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  Array<char> scratch{0};
  std::string kind;
  search::ScheduleReport schedule;
  double lower_seconds = 0, compile_seconds = 0;
  std::vector<double> seconds;  ///< per run, one of each round
  std::vector<double> shares;   ///< of the peak measured before and after, in the same round
};

ir::loop::LoopProgram program_in(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(Fault::user, path + " cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  return ir::loop::parse(text.str());
}

std::map<std::string, int64_t> lowest_sizes(const ir::loop::LoopProgram& program) {
  std::map<std::string, int64_t> sizes;
  for (const ir::loop::Size& size : program.sizes) sizes[size.name] = size.low;
  return sizes;
}

Ready make(const GeneratedCase& from, const jit::Target& target, size_t rank, bool dump) {
  Ready ready;
  ready.from = from;
  search::Lowered lowered;
  const Clock clock = steady_clock();
  double start = clock.now();
  if (from.make) {
    lowered = search::lower(from.make(), {}, from.constant, target, rank);
    if (!lowered.program) throw Error(Fault::unsupported, from.name + ": " + lowered.reason);
    ready.kind = lowered.kind;
    ready.schedule = lowered.schedule;
  } else {
    lowered.program = program_in(from.name.substr(from.name.find(':') + 1));
  }
  ready.lower_seconds = clock.now() - start;
  start = clock.now();
  ready.code = jit::KernelCode::compile(*lowered.program, target, {.annotate = dump});
  ready.compile_seconds = clock.now() - start;
  if (dump) fmt::print("{}\n{}\n", print(*lowered.program), ready.code->assembly());
  ready.kernel =
      std::make_unique<jit::BoundKernel>(ready.code, lowest_sizes(*lowered.program), from.constant);
  std::map<std::string, ir::Dim> sizes;
  for (const ir::loop::Size& size : lowered.program->sizes) sizes[size.name] = size.low;
  for (const ir::loop::Buffer& buffer : lowered.program->buffers) {
    if (buffer.role == ir::loop::Role::scratch) continue;
    const int64_t count = ir::product(buffer.dims).substitute(sizes).value();
    ready.memory.push_back(random_floats(count, ready.memory.size() + 1));
    if (buffer.role == ir::loop::Role::input)
      ready.inputs.push_back(ready.memory.back().data());
    else
      ready.outputs.push_back(ready.memory.back().data());
  }
  jit::Workers& alone = jit::inline_workers();
  ready.kernel->prepare(ready.inputs.data(), alone);
  ready.scratch = Array<char>(static_cast<int64_t>(ready.kernel->scratch_bytes(1)));
  return ready;
}

/// There may be fewer than are asked for.
bool has_alternative(const GeneratedCase& one, const jit::Target& target, size_t rank) {
  return one.make && search::lower(one.make(), {}, one.constant, target, rank).program;
}

/// Of this thread: what the scheduler gives to others does not count.
double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Leaves nothing of what others use in the caches, and nothing that is to be written back.
void sweep_caches() {
  constexpr int64_t count = int64_t{24} << 20, line = 16;
  static const Array<float> memory = random_floats(count, 1);
  float sum = 0;
  for (int64_t k = 0; k < count; k += line) sum += memory.data()[k];
  volatile float kept = sum;
  (void)kept;
}

/// The same where every run finds operands, packed weights and results in memory.
double measure_cold(const Ready& ready) {
  constexpr int runs = 12;
  double elapsed = 0;
  for (int k = 0; k < runs; ++k) {
    sweep_caches();
    const double start = processor_seconds();
    ready.kernel->run(ready.inputs.data(), ready.outputs.data(), ready.scratch.data(), jit::inline_workers());
    elapsed += processor_seconds() - start;
  }
  return elapsed / runs;
}

/// Seconds of processor time per run, over at least 20 ms.
double measure(const Ready& ready) {
  jit::Workers& alone = jit::inline_workers();
  const auto run = [&] {
    ready.kernel->run(ready.inputs.data(), ready.outputs.data(), ready.scratch.data(), alone);
  };
  run();
  int64_t runs = 0;
  const double start = processor_seconds();
  double elapsed = 0;
  // The clock takes as long as a small kernel: it is read seldom.
  for (int64_t batch = 1; elapsed < 0.02; batch += batch) {
    for (int64_t k = 0; k < batch; ++k) run();
    runs += batch;
    elapsed = processor_seconds() - start;
  }
  return elapsed / static_cast<double>(runs);
}

int run(int argc, char** argv) {
  int rounds = 15, cores = 0;
  bool cold = false;
  std::string dumped;
  std::vector<std::string> wanted;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--rounds" && k + 1 < argc) {
      rounds = std::max(1, std::atoi(argv[++k]));
    } else if (word == "--cores" && k + 1 < argc) {
      cores = std::max(1, std::atoi(argv[++k]));
    } else if (word == "--cold") {
      cold = true;
    } else if (word == "--dump" && k + 1 < argc) {
      dumped = argv[++k];
      wanted.push_back(dumped);
    } else {
      wanted.push_back(word);
    }
  }
  jit::Target target = jit::detect_target();
  if (const char* level = std::getenv("AXRUN_ISA")) target = jit::restricted(target, jit::level_named(level));
  target = jit::calibrated(target);
  if (cores != 0) target.cores = cores;
  std::vector<Ready> ready;
  if (wanted.empty()) wanted = generated_cases();
  for (const std::string& name : wanted) {
    const size_t at = name.find('@');
    const size_t rank = at == std::string::npos ? 0 : std::strtoul(name.c_str() + at + 1, nullptr, 10);
    auto one = generated_case(name.substr(0, at));
    if (!one) one = model_step_case(name.substr(0, at));
    if (one && at != std::string::npos) one->name += name.substr(at);
    if (!one && name.find(':') != std::string::npos) {
      one.emplace();
      one->name = name;
      one->flops = std::strtod(name.c_str(), nullptr);
      one->constant = {false, true, true};
    }
    if (!one) throw Error(Fault::user, name + " is no case");
    if (rank > 0 && !has_alternative(*one, target, rank)) continue;
    ready.push_back(make(*one, target, rank, name == dumped));
  }
  double best_peak = 0;
  for (int round = 0; round < rounds; ++round) {
    for (Ready& one : ready) {
      const double before = jit::calibrated(target).flops_per_second;
      one.seconds.push_back(cold ? measure_cold(one) : measure(one));
      const double peak = std::max(before, jit::calibrated(target).flops_per_second);
      one.shares.push_back(one.from.flops / one.seconds.back() / peak);
      best_peak = std::max(best_peak, peak);
    }
  }
  fmt::print("{}, {} byte vectors, multiply-add peak of one core {:.1f} GFLOP/s, {} rounds\n", target.name,
             target.vector_bytes, best_peak * 1e-9, rounds);
  fmt::print("{:<34}{:>12}{:>12}{:>10}{:>9}{:>10}{:>10}{:>9}  {}\n", "case", "median us", "best us",
             "GFLOP/s", "of peak", "over base", "lower ms", "emit ms", "kind");
  for (const Ready& one : ready) {
    const double seconds = median(one.seconds);
    const double best = *std::min_element(one.seconds.begin(), one.seconds.end());
    std::string over;
    for (const Ready& base : ready) {
      if (base.from.name != one.from.base) continue;
      std::vector<double> ratios;
      for (size_t k = 0; k < one.seconds.size(); ++k) ratios.push_back(one.seconds[k] / base.seconds[k]);
      over = fmt::format("{:+.1f}%", (median(ratios) - 1) * 100);
    }
    std::string schedule;
    if (one.schedule.expected != 0)
      schedule = fmt::format("; {:.1f} us expected: {}", one.schedule.expected * 1e-3, one.schedule.text);
    fmt::print("{:<34}{:>12.2f}{:>12.2f}{:>10.1f}{:>8.1f}%{:>10}{:>10.1f}{:>9.1f}  {}{}\n", one.from.name,
               seconds * 1e6, best * 1e6, one.from.flops / seconds * 1e-9, median(one.shares) * 100, over,
               one.lower_seconds * 1e3, one.compile_seconds * 1e3, one.kind, schedule);
  }
  return 0;
}

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  try {
    return axrun::perf::run(argc, argv);
  } catch (const axrun::Error& error) {
    std::fprintf(stderr, "bench_generated: %s\n", error.what());
    return 1;
  }
}
