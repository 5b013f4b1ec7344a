#include "perf/host/host.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>

#include "perf/host/json.h"
#include "perf/host/tensor_file.h"

namespace axrun::perf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int internal_error = 70;

double milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// High-water mark of this program's resident memory, mapped files included. Not getrusage's ru_maxrss: that
/// one survives exec and would report the parent's memory when the parent was larger.
long long peak_rss_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::atoll(line.c_str() + 6) * 1024;
  }
  return 0;
}

struct StartTimes {
  double load_ms = 0;
  double first_ms = 0;
  double start_to_first_ms = 0;
};

std::string shape_json(const std::vector<std::int64_t>& shape) {
  return json_array(shape, [](std::int64_t dim) { return std::to_string(dim); });
}

std::string tensor_json(const Tensor& tensor) {
  return JsonObject()
      .text("name", tensor.name)
      .text("type", name_of(tensor.type))
      .raw("shape", shape_json(tensor.shape))
      .str();
}

std::string output_json(const Output& output) {
  if (output.kind == "tensor") return tensor_json(output.tensor);
  return JsonObject().text("name", output.name).text("type", output.kind).str();
}

JsonObject describe(const Engine& engine, const Options& options, const StartTimes& start) {
  JsonObject object;
  object.text("engine", engine.name())
      .text("version", engine.version())
      .text("model", options.model)
      .integer("threads", options.threads)
      .number("load_ms", start.load_ms)
      .number("session_ms", engine.session_ms())
      .number("first_ms", start.first_ms)
      .number("start_to_first_ms", start.start_to_first_ms);
  return object;
}

/// Linear interpolation between the two nearest ranks of sorted times.
double percentile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (rank - static_cast<double>(below));
}

std::string latency_json(std::vector<double> times_ms) {
  std::sort(times_ms.begin(), times_ms.end());
  double sum = 0;
  for (const double time : times_ms) sum += time;
  return JsonObject()
      .number("min", times_ms.front())
      .number("mean", sum / static_cast<double>(times_ms.size()))
      .number("p50", percentile(times_ms, 0.50))
      .number("p90", percentile(times_ms, 0.90))
      .number("p95", percentile(times_ms, 0.95))
      .number("p99", percentile(times_ms, 0.99))
      .str();
}

double timed_run_ms(Engine& engine) {
  const Clock::time_point begin = Clock::now();
  engine.run();
  return milliseconds(Clock::now() - begin);
}

/// Takes everything else out of the caches. It writes: pages that are only read are all the same page of
/// zeros.
void sweep_caches() {
  constexpr std::size_t least = std::size_t{64} << 20, line = 64;
  static std::vector<char> memory(
      std::max(least, 4 * static_cast<std::size_t>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)))), 1);
  for (std::size_t k = 0; k < memory.size(); k += line) {
    auto& one = const_cast<volatile char&>(memory[k]);
    one = static_cast<char>(one + 1);
  }
}

std::vector<double> timed_runs_ms(Engine& engine, const Options& options) {
  std::vector<double> times;
  const Clock::time_point begin = Clock::now();
  const auto enough = [&] {
    if (options.seconds > 0) return milliseconds(Clock::now() - begin) >= options.seconds * 1e3;
    return times.size() >= static_cast<std::size_t>(options.runs);
  };
  do {
    if (options.sweep) sweep_caches();
    times.push_back(timed_run_ms(engine));
  } while (!enough());
  return times;
}

void save_outputs(const std::string& folder, const std::vector<Output>& outputs) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].kind != "tensor") continue;
    write_tensor_file(folder + "/output_" + std::to_string(k) + ".pb", outputs[k].tensor);
  }
}

void print_line(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

/// Times of `count` runs as one reply line; the text is made after the last run.
std::string serve_runs(Engine& engine, int count) {
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(count));
  for (int k = 0; k < count; ++k) times.push_back(timed_run_ms(engine));
  // Tenths of a nanosecond: finer than the clock, and short enough for thousands of runs.
  const auto to_json = [](double ms) { return json_number(std::round(ms * 1e7) / 1e4); };
  return JsonObject()
      .raw("times_us", json_array(times, to_json))
      .integer("peak_rss_bytes", peak_rss_bytes())
      .str();
}

void serve(Engine& engine) {
  // The parent stops this program between its turns. When the parent is killed then, nobody would let it go
  // on to see the end of its input.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  constexpr int most_runs = 1'000'000;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    if (line == "settle") {
      print_line(engine.settle());
      continue;
    }
    int count = 0;
    if (std::sscanf(line.c_str(), "run %d", &count) != 1 || count < 1 || count > most_runs) {
      throw HostError(HostError::user, "'" + line + "' is neither `run N` nor `settle` nor `quit`");
    }
    print_line(serve_runs(engine, count));
  }
}

void measure(int argc, char** argv, const Program& program, Clock::time_point process_start) {
  const Options options = parse_options(argc, argv, program.flags);
  const auto since_start = [&] { return milliseconds(Clock::now() - process_start); };

  StartTimes start;
  // Declared before the engine, which reads them until it is destroyed.
  std::vector<Tensor> inputs;
  const std::unique_ptr<Engine> engine = program.load(options);
  start.load_ms = since_start();

  inputs = options.data.empty() ? make_up_inputs(engine->inputs(), options.choices, options.seed)
                                : read_inputs(options.data, engine->inputs());
  engine->bind(inputs);
  start.first_ms = timed_run_ms(*engine);
  start.start_to_first_ms = since_start();

  if (options.serve) {
    // The parent stops its clock at this line, so nothing but the answer comes before it.
    print_line(describe(*engine, options, start).str());
    engine->after_first_run();
    serve(*engine);
    if (!options.save.empty()) save_outputs(options.save, engine->outputs());
    return;
  }
  engine->after_first_run();
  engine->settle();
  const std::vector<double> times = timed_runs_ms(*engine, options);
  const long long peak = peak_rss_bytes();
  const std::vector<Output> outputs = engine->outputs();
  if (!options.save.empty()) save_outputs(options.save, outputs);
  print_line(describe(*engine, options, start)
                 .raw("latency_ms", latency_json(times))
                 .integer("runs", static_cast<long long>(times.size()))
                 .integer("peak_rss_bytes", peak)
                 .raw("inputs", json_array(inputs, tensor_json))
                 .raw("outputs", json_array(outputs, output_json))
                 .str());
}

}  // namespace

int host_main(int argc, char** argv, const Program& program) {
  const Clock::time_point process_start = Clock::now();
  if (wants_help(argc, argv)) {
    std::fputs(usage(program.name, program.flags).c_str(), stdout);
    return 0;
  }
  const auto fail = [&](std::string text, int code) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), text.c_str());
    return code;
  };
  try {
    measure(argc, argv, program, process_start);
    return 0;
  } catch (const HostError& error) {
    return fail(error.what(), error.exit_code);
  } catch (const std::bad_alloc&) {
    return fail("out of memory", internal_error);
  } catch (const std::exception& error) {
    return fail(error.what(), internal_error);
  }
}

}  // namespace axrun::perf
