// Schedules of products by dynamic programming, and what it takes to find them: schedules [--states N]
// [--best N] [--threads] [--packed] [ROWSxCOLUMNSxDEPTH...]
//
// For each product the best schedules over a few register tiles, with what they take by the cost model of the
// calibrated machine; then specifications searched, their number per second, the size of the table that all
// products share, and by how much the best schedule is above what none can take less than. --packed: the
// right side is constant, in panels. --threads: loops may be spread over cores.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ir/error.h"
#include "jit/calibrate.h"
#include "jit/detect.h"
#include "search/register_tile.h"
#include "search/schedules/dynamic_program.h"

namespace axrun::perf {
namespace {

using namespace search::schedules;

struct Options {
  std::vector<std::string> products = {"512x512x512",  "256x196x2304", "512x49x4608",
                                       "256x3136x64",  "128x768x768",  "128x3072x768",
                                       "128x768x3072", "1x2048x16384", "2048x2048x2048"};
  int64_t states = Budget().states;
  size_t best = 4;
  bool threads = false, packed = false;
};

Specification specification(const std::string& text, const CostModel& cost, const Options& options) {
  Specification s;
  int read = 0;
  const int count =
      std::sscanf(text.c_str(), "%dx%dx%d%n", &s.extents[0], &s.extents[1], &s.extents[2], &read);
  const bool whole = count == 3 && static_cast<size_t>(read) == text.size();
  if (!whole || *std::min_element(s.extents.begin(), s.extents.end()) < 1)
    throw Error(Fault::user, text + " is no ROWSxCOLUMNSxDEPTH");
  s.levels = {cost.memory(), cost.memory(), cost.memory()};
  if (options.packed) s.layouts[static_cast<size_t>(Operand::right)] = Layout::panels;
  s.spread = options.threads;
  s.limits = cost.limits();
  return s;
}

struct Seen {
  Schedule schedule;
  int64_t rows = 0, columns = 0;  ///< of the tile
};

void report(const std::string& text, DynamicProgram& program, const jit::Target& target,
            const Options& options) {
  Specification s = specification(text, program.cost(), options);
  const search::RegisterTile best =
      search::register_tile(s.extent(Axis::rows), s.extent(Axis::columns), target, true);
  std::vector<Seen> seen;
  Found total;
  total.least = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const int64_t columns : {best.columns, best.columns / 2, best.columns * 2}) {
    if (columns < target.lanes(4)) continue;
    for (const int64_t rows : {best.rows, best.rows - 1, best.rows / 2, best.rows * 2}) {
      if (rows < 1 || !program.cost().fits_registers(rows, columns)) continue;
      s.tile_rows = static_cast<int16_t>(rows);
      s.tile_columns = static_cast<int16_t>(columns);
      Found found = program.solve(s, {options.states});
      total.states += found.states;
      total.expansions += found.expansions;
      total.pruned += found.pruned;
      total.complete = total.complete && found.complete;
      total.least = total.least == 0 ? found.least : std::min(total.least, found.least);
      for (Schedule& schedule : found.schedules) seen.push_back({std::move(schedule), rows, columns});
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::stable_sort(seen.begin(), seen.end(),
                   [](const Seen& a, const Seen& b) { return a.schedule.cost < b.schedule.cost; });
  if (seen.size() > options.best) seen.resize(options.best);
  fmt::print("{}: {} states in {:.1f} ms, {:.0f} per second; {} decisions followed, {} pruned; ", text,
             total.states, seconds * 1e3, static_cast<double>(total.states) / seconds, total.expansions,
             total.pruned);
  fmt::print("table {} specifications, {} boxes, {} KiB; {}\n", program.table().pages(),
             program.table().boxes(), program.table().bytes() / 1024,
             total.complete ? "complete"
             : seen.empty() ? "cut short before any schedule"
                            : fmt::format("cut short, at most {:.1f}% above the best",
                                          (seen[0].schedule.cost / total.least - 1) * 100));
  const double flops = 2.0 * s.extents[0] * s.extents[1] * s.extents[2];
  for (const Seen& one : seen) {
    const double peak = target.flops_per_second * (options.threads ? target.cores : 1) / 1e9;
    fmt::print("  {:4.1f}% of peak, tile {}x{}, {}\n", flops / one.schedule.cost / peak * 100, one.rows,
               one.columns, to_text(one.schedule));
  }
}

int64_t number(const std::string& option, const char* text) {
  char* end = nullptr;
  const long long value = text == nullptr ? 0 : std::strtoll(text, &end, 10);
  if (text == nullptr || *end != 0 || value < 1) throw Error(Fault::user, option + " takes a number");
  return value;
}

Options parsed(int argc, char** argv) {
  Options options;
  std::vector<std::string> products;
  for (int k = 1; k < argc; ++k) {
    const std::string option = argv[k];
    if (option == "--states") {
      options.states = number(option, argv[++k]);
    } else if (option == "--best") {
      options.best = static_cast<size_t>(std::min<int64_t>(number(option, argv[++k]), 100));
    } else if (option == "--threads") {
      options.threads = true;
    } else if (option == "--packed") {
      options.packed = true;
    } else {
      products.push_back(option);
    }
  }
  if (!products.empty()) options.products = std::move(products);
  return options;
}

int run(int argc, char** argv) {
  const Options options = parsed(argc, argv);
  const jit::Target target = jit::calibrated(jit::detect_target());
  DynamicProgram program(target, options.best);
  for (const std::string& product : options.products) report(product, program, target, options);
  return 0;
}

}  // namespace
}  // namespace axrun::perf

int main(int argc, char** argv) {
  try {
    return axrun::perf::run(argc, argv);
  } catch (const axrun::Error& error) {
    std::fprintf(stderr, "schedules: %s\n", error.what());
    return 1;
  }
}
