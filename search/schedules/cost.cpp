#include "search/schedules/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace axrun::search::schedules {
namespace {

constexpr int64_t element = 4, line = 64;
// Where the target was not calibrated. Caches bring two vectors in a cycle, then nearly a line where vectors
// are as long as one, half of it where they are not.
constexpr double usual_cycles_per_nanosecond = 2.5, usual_memory = 20;
constexpr std::array<double, most_caches> usual_bandwidths = {280, 135, 50}, usual_of_short = {155, 80, 41};

// Of a tile in registers, in cycles: a multiply-add, what it takes to start one, what is left of a load
// beside multiply-adds that hide it. Rows of the left side are read from as many places, or lie side by side.
// Fitted to measured products, as are the shares below.
constexpr double latency = 4, loads_per_cycle = 2, start_of_tile = 12;
constexpr double row_cycles = 0.06, packed_row_cycles = 0.03, vector_cycles = 0.05;
/// Of what could be hidden behind something that takes longer: what it takes nevertheless.
constexpr double share_seen = 0.1;
/// The same of memory that is read for the first time, and as it lies, while tiles are computed from it.
constexpr double share_of_memory_seen = 0.5;
// Of moves: a vector that is copied, one that is turned in registers.
constexpr double copy_cycles = 1.5, turn_cycles = 3;
// Of loops: an iteration; spread ones, in nanoseconds: to wake the other cores and to wait for them, an
// iteration.
constexpr double iteration_cycles = 3, spread_nanoseconds = 3000, spread_iteration_nanoseconds = 60;
/// Of a cache: what is moved there on purpose. The rest is for what passes.
constexpr int64_t share_used = 3, share_of = 4;
/// Lines of cache that lie one by one in memory are as slow as so many that lie together.
constexpr double scattered = 1.5;
constexpr int64_t together_bytes = 512;

int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

CostModel::CostModel(const jit::Target& target)
    : lanes_(target.lanes(element)),
      ports_(std::max(1, target.fma_ports)),
      registers_(target.vector_registers),
      cores_(std::max(1, target.cores)) {
  const double flops_per_cycle = 2.0 * static_cast<double>(lanes_ * ports_);
  nanoseconds_per_cycle_ = target.flops_per_second > 0 ? 1e9 * flops_per_cycle / target.flops_per_second
                                                       : 1 / usual_cycles_per_nanosecond;
  const auto& usual = target.vector_bytes < line ? usual_of_short : usual_bandwidths;
  for (size_t k = 0; k < std::min(target.caches.size(), most_caches); ++k) {
    const jit::CacheLevel& cache = target.caches[k];
    const double measured = cache.bytes_per_second / 1e9;
    caches_.push_back(
        {cache.bytes / std::max(1, std::min(cache.shared_by, cores_)), measured > 0 ? measured : usual[k]});
  }
  memory_bytes_per_nanosecond_ =
      target.memory_bytes_per_second > 0 ? target.memory_bytes_per_second / 1e9 : usual_memory;
}

std::string CostModel::text() const {
  std::string text =
      fmt::format("{} lanes, {} ports, {} registers, {} cores, {:a} ns, memory {:a}", lanes_, ports_,
                  registers_, cores_, nanoseconds_per_cycle_, memory_bytes_per_nanosecond_);
  for (const Cache& cache : caches_)
    text += fmt::format(", {} at {:a}", cache.bytes, cache.bytes_per_nanosecond);
  return text;
}

Limits CostModel::limits() const {
  Limits limits;
  for (size_t k = 0; k < caches_.size(); ++k)
    limits[k] = Limit::at_most(caches_[k].bytes / share_of * share_used);
  return limits;
}

double CostModel::bandwidth(Level level) const {
  return level > caches_.size() ? memory_bytes_per_nanosecond_
                                : caches_[static_cast<size_t>(level - 1)].bytes_per_nanosecond;
}

bool CostModel::fits_registers(int64_t rows, int64_t columns) const {
  const int64_t vectors = (columns + lanes_ - 1) / lanes_, spare = registers_ > 16 ? 3 : 1;
  return rows * vectors + vectors + spare <= registers_;
}

int64_t CostModel::bytes(const Specification& s, Operand operand, Layout layout) const {
  const auto [first, second] = axes_of(operand);
  const int64_t rows = s.extent(first), columns = s.extent(second);
  switch (layout) {
    case Layout::lines:
      return rows * rounded_up(columns * element, line);
    case Layout::across:
      return columns * rounded_up(rows * element, line);
    case Layout::panels:
      break;
  }
  const auto whole = [&](Axis axis, int64_t extent) {
    if (axis == Axis::rows) return rounded_up(extent, s.tile_rows);
    return axis == Axis::columns ? rounded_up(extent, s.tile_columns) : extent;
  };
  return rounded_up(whole(first, rows) * whole(second, columns) * element, line);
}

double CostModel::step_cycles(const Specification& s, int64_t rows, int64_t columns, Level left,
                              Level right) const {
  const auto r = static_cast<double>(rows), v = static_cast<double>((columns + lanes_ - 1) / lanes_);
  const double multiply = r * v / static_cast<double>(ports_), load = (r + v) / loads_per_cycle;
  double stream = 0;  // nanoseconds
  const auto vector_bytes = static_cast<double>(lanes_ * element);
  // A step reads the next place of panels, and of rows that are read one by one; else lines of its own.
  const auto taken = [](double bytes, bool in_sequence) {
    return in_sequence ? bytes : std::ceil(bytes / static_cast<double>(line)) * static_cast<double>(line);
  };
  if (right > 1)
    stream += taken(v * vector_bytes, s.layout(Operand::right) == Layout::panels) / bandwidth(right);
  if (left > 1)
    stream +=
        taken(r * static_cast<double>(element), s.layout(Operand::left) != Layout::across) / bandwidth(left);
  const double of_row = s.layout(Operand::left) == Layout::lines ? row_cycles : packed_row_cycles;
  const double near = std::max({multiply, load, latency}), far = stream / nanoseconds_per_cycle_;
  return std::max(near, far) + share_seen * std::min(near, far) + of_row * r + vector_cycles * v;
}

double CostModel::kernel(const Specification& s) const {
  const int64_t rows = s.extent(Axis::rows), columns = s.extent(Axis::columns);
  const double steps = static_cast<double>(s.extent(Axis::depth)) *
                       step_cycles(s, rows, columns, s.level(Operand::left), s.level(Operand::right));
  const double result =
      static_cast<double>(rows * rounded_up(columns, lanes_) * element) / bandwidth(s.level(Operand::result));
  return (start_of_tile + steps) * nanoseconds_per_cycle_ + result * (s.accumulates ? 2 : 1);
}

double CostModel::move(const Specification& s, Operand operand, Level level, Layout layout) const {
  const Layout before = s.layout(operand);
  const auto read = static_cast<double>(bytes(s, operand, before));
  double result = read / bandwidth(s.level(operand));
  if (before != Layout::panels && s.level(operand) == memory()) {
    const auto [first, second] = axes_of(operand);
    const int64_t together = s.extent(before == Layout::lines ? second : first) * element;
    if (together < together_bytes) result *= scattered;
  }
  if (operand == Operand::result) return s.accumulates ? 2 * result : result;
  if (layout == before) return result * seen(s.level(operand));
  return result + arranging(s, operand, level, layout);
}

double CostModel::arranging(const Specification& s, Operand operand, Level level, Layout layout) const {
  const Layout before = s.layout(operand);
  if (layout == before) return 0;
  const auto [first, second] = axes_of(operand);
  const auto written = static_cast<double>(s.extent(first) * s.extent(second) * element);
  const bool turned = before == (operand == Operand::left ? Layout::lines : Layout::across);
  return written / bandwidth(level) + written / static_cast<double>(lanes_ * element) *
                                          (turned ? turn_cycles : copy_cycles) * nanoseconds_per_cycle_;
}

double CostModel::seen(Level level) const { return level == memory() ? share_of_memory_seen : share_seen; }

double CostModel::least_move(const Specification& s, Operand operand, Layout layout) const {
  const auto [first, second] = axes_of(operand);
  const double read =
      static_cast<double>(s.extent(first) * s.extent(second) * element) / bandwidth(s.level(operand));
  if (layout == s.layout(operand)) return read * seen(s.level(operand));
  return read + arranging(s, operand, 1, layout);
}

double CostModel::clear(const Specification& s) const {
  return static_cast<double>(bytes(s, Operand::result, s.layout(Operand::result))) /
         bandwidth(s.level(Operand::result));
}

double CostModel::loop(int64_t iterations) const {
  return static_cast<double>(iterations) * iteration_cycles * nanoseconds_per_cycle_;
}

double CostModel::spread(int64_t iterations) const {
  return spread_nanoseconds + static_cast<double>(iterations) * spread_iteration_nanoseconds;
}

double CostModel::multiply(const Specification& s) const {
  double cycles = 0;
  const int64_t rows = s.extent(Axis::rows), columns = s.extent(Axis::columns);
  const Level left = s.level(Operand::left), right = s.level(Operand::right);
  for (const int64_t height : {int64_t{s.tile_rows}, rows % s.tile_rows}) {
    const int64_t down = height == s.tile_rows ? rows / height : 1;
    for (const int64_t width : {int64_t{s.tile_columns}, columns % s.tile_columns}) {
      const int64_t across = width == s.tile_columns ? columns / width : 1;
      if (height == 0 || width == 0 || down == 0 || across == 0) continue;
      cycles += static_cast<double>(down * across) *
                (start_of_tile +
                 static_cast<double>(s.extent(Axis::depth)) * step_cycles(s, height, width, left, right));
    }
  }
  return cycles * nanoseconds_per_cycle_;
}

double CostModel::lower_bound(const Specification& s) const {
  // Each side is read where it is, or moved at least once: to the nearest level.
  struct Way {
    double moved = 0;
    Level level = 0;
    Layout layout = Layout::lines;
  };
  const auto ways = [&](Operand operand) {
    std::vector<Way> found;
    const Layout layout = s.layout(operand);
    const bool readable = operand == Operand::left || layout != Layout::across;
    if (readable) found.push_back({0, s.level(operand), layout});
    if (s.level(operand) == 1) return found;
    if (readable) found.push_back({least_move(s, operand, layout), 1, layout});
    if (layout != Layout::panels)
      found.push_back({least_move(s, operand, Layout::panels), 1, Layout::panels});
    return found;
  };
  double least = std::numeric_limits<double>::infinity();
  for (const Way& left : ways(Operand::left)) {
    for (const Way& right : ways(Operand::right)) {
      Specification moved = s;
      moved.levels = {left.level, right.level, 1};
      moved.layouts = {left.layout, right.layout, Layout::lines};
      least = std::min(least, left.moved + right.moved + multiply(moved));
    }
  }
  const auto result = static_cast<double>(s.extent(Axis::rows) * s.extent(Axis::columns) * element);
  least += result / bandwidth(s.level(Operand::result)) * (s.accumulates ? 2 : 1);
  return s.spread ? least / static_cast<double>(cores_) : least;
}

}  // namespace axrun::search::schedules
