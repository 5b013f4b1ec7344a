// What this machine can do: multiply-adds and bytes read per second, of one core and of all. Takes about five
// seconds. How it is measured and what for: perf/README.md, "The limit".
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "jit/detect.h"
#include "jit/huge_pages.h"
#include "jit/measuring_loops.h"
#include "perf/host/json.h"
#include "perf/limits/best_rate.h"
#include "perf/limits/caches.h"
#include "perf/limits/fma_peak.h"
#include "runtime/machine.h"

namespace axrun::perf {
namespace {

constexpr double seconds_each = 0.25;

struct Rates {
  double one = 0;
  double all = 0;
};

struct LevelRates {
  MemoryLevel level;
  std::size_t part_bytes = 0;  ///< what each of all threads reads
  Rates gbps;
};

/// In billions per second. One thread is measured on two processors in turn: a neighbour may hold one of them
/// back for long.
template <class WorkOf>
Rates measure(const std::vector<int>& processors, double seconds, WorkOf work_of) {
  Rates rates;
  const std::size_t tried = std::min<std::size_t>(processors.size(), 2);
  for (std::size_t k = 0; k < tried; ++k) {
    const double rate = best_rate({processors[k]}, work_of(1), seconds / static_cast<double>(tried));
    rates.one = std::max(rates.one, rate * 1e-9);
  }
  const double all = best_rate(processors, work_of(static_cast<int>(processors.size())), seconds);
  rates.all = std::max(rates.one, all * 1e-9);  // all could leave it to one
  return rates;
}

Rates measure_peak(const std::vector<int>& processors, const PeakLoop& loop) {
  return measure(processors, seconds_each, [&](int) {
    return Work{loop.operations, [&](int) { loop.run(); }, {}};
  });
}

/// The bytes that each of `threads` threads reads so that they come from levels[index]: well over what the
/// level below holds, well under the thread's share of the level itself. Caches that exclude each other leave
/// less room between the two: at least one and a half times the lower one then.
std::size_t part_bytes(const std::vector<MemoryLevel>& levels, std::size_t index, int threads) {
  const MemoryLevel& level = levels[index];
  double part = 0;
  if (level.bytes == 0) {
    const double last_cache = static_cast<double>(levels[index - 1].bytes);
    // Four times the last cache would do under strict replacement; real ones keep some of what is read in
    // circles.
    part = std::min(8 * last_cache, static_cast<double>(free_memory_bytes()) / 4) / threads;
  } else if (index == 0) {
    part = 0.75 * static_cast<double>(level.bytes);
  } else {
    const auto below = static_cast<double>(levels[index - 1].bytes);
    const double share = static_cast<double>(level.bytes) / (level.is_private ? 1 : threads);
    part = std::max(1.5 * below, std::sqrt(below * share));
  }
  return std::max<std::size_t>(static_cast<std::size_t>(part) / jit::ReadLoop::unit, 1) * jit::ReadLoop::unit;
}

Rates measure_reads(const Topology& topology, std::size_t index, const jit::ReadLoop& read) {
  constexpr std::size_t least_bytes = 256 << 10;  // of one call, so that calling does not count
  std::vector<std::unique_ptr<jit::HugePages>> parts;
  return measure(topology.processors, seconds_each / 2, [&](int threads) {
    const std::size_t bytes = part_bytes(topology.levels, index, threads);
    const auto passes = static_cast<int>(std::max<std::size_t>(least_bytes / bytes, 1));
    parts.clear();
    for (int k = 0; k < threads; ++k) parts.push_back(std::make_unique<jit::HugePages>(bytes));
    Work work;
    work.amount = static_cast<double>(bytes) * passes;
    work.run = [&parts, &read, passes](int thread) {
      const jit::HugePages& part = *parts[static_cast<std::size_t>(thread)];
      read.run(part.data(), part.bytes(), passes);
    };
    work.prepare = [&parts](int thread) { parts[static_cast<std::size_t>(thread)]->touch(); };
    return work;
  });
}

/// The better of both orders is the limit.
LevelRates measure_level(const Topology& topology, std::size_t index, runtime::IsaLevel isa) {
  LevelRates rates;
  rates.level = topology.levels[index];
  rates.part_bytes = part_bytes(topology.levels, index, static_cast<int>(topology.processors.size()));
  const jit::Target target = jit::restricted(jit::detect_target(), jit::level_named(isa_level_name(isa)));
  for (const jit::ReadOrder order : {jit::ReadOrder::one_stream, jit::ReadOrder::four_streams}) {
    const Rates found = measure_reads(topology, index, jit::ReadLoop(target, order));
    rates.gbps.one = std::max(rates.gbps.one, found.one);
    rates.gbps.all = std::max(rates.gbps.all, found.all);
  }
  return rates;
}

struct Limits {
  Topology topology;
  runtime::IsaLevel isa = runtime::best_isa_level();
  Rates f32, int8;
  std::vector<LevelRates> levels;
};

Limits measure_limits() {
  Limits limits;
  limits.topology = find_topology();
  limits.f32 = measure_peak(limits.topology.processors, f32_peak(limits.isa));
  limits.int8 = measure_peak(limits.topology.processors, int8_peak());
  for (std::size_t k = 0; k < limits.topology.levels.size(); ++k) {
    limits.levels.push_back(measure_level(limits.topology, k, limits.isa));
  }
  return limits;
}

std::string rates_json(const Rates& rates) {
  return JsonObject().number("one", rates.one).number("all", rates.all).str();
}

std::string level_json(const LevelRates& rates) {
  JsonObject object;
  object.text("name", rates.level.name);
  if (rates.level.bytes > 0) {
    object.integer("bytes", rates.level.bytes);
  } else {
    object.raw("bytes", "null");
  }
  return object.boolean("private", rates.level.is_private)
      .integer("part_bytes", static_cast<long long>(rates.part_bytes))
      .raw("gbps", rates_json(rates.gbps))
      .str();
}

std::string to_json(const Limits& limits) {
  return JsonObject()
      .text("cpu", runtime::describe_machine().cpu)
      .text("isa", runtime::isa_level_name(limits.isa))
      .integer("threads", static_cast<long long>(limits.topology.processors.size()))
      .raw("processors", json_array(limits.topology.processors, [](int k) { return std::to_string(k); }))
      .boolean("cache_sizes_assumed", limits.topology.assumed)
      .raw("f32_gflops", rates_json(limits.f32))
      .raw("int8_gops", rates_json(limits.int8))
      .text("int8_instructions", int8_peak().name)
      .raw("levels", json_array(limits.levels, level_json))
      .str();
}

void print_row(const std::string& what, const Rates& rates, const std::string& note) {
  std::printf("%-22s %10.1f %10.1f   %s\n", what.c_str(), rates.one, rates.all, note.c_str());
}

void print_text(const Limits& limits) {
  std::printf("%s, %zu cores measured, %s\n", runtime::describe_machine().cpu.c_str(),
              limits.topology.processors.size(), runtime::isa_level_name(limits.isa));
  if (limits.topology.assumed)
    std::printf("The system does not tell the sizes of its caches: common ones assumed.\n");
  std::printf("%-22s %10s %10s\n", "", "one", "all");
  print_row("f32 GFLOP/s", limits.f32, "");
  print_row("int8 Gop/s", limits.int8, int8_peak().name);
  for (const LevelRates& rates : limits.levels) {
    const std::int64_t kilobytes = rates.level.bytes / 1024;
    const std::string size = kilobytes == 0 ? "" : std::to_string(kilobytes) + " KiB";
    print_row(rates.level.name + " read GB/s", rates.gbps,
              size + (rates.level.is_private ? " per core" : ""));
  }
}

int run(const std::vector<std::string_view>& arguments) {
  const bool json = arguments.size() == 1 && arguments[0] == "--json";
  if (!arguments.empty() && !json) {
    const bool help = arguments[0] == "--help" || arguments[0] == "-h";
    std::fputs("usage: machine_limits [--json]\n", help ? stdout : stderr);
    return help ? 0 : 1;
  }
  try {
    const Limits limits = measure_limits();
    if (json) {
      std::printf("%s\n", to_json(limits).c_str());
    } else {
      print_text(limits);
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "machine_limits: %s\n", error.what());
    constexpr int internal_error = 70;
    return internal_error;
  }
}

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  return axrun::perf::run(std::vector<std::string_view>(argv + 1, argv + argc));
}
