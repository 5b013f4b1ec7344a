#include "search/schedules/decision.h"

#include <fmt/format.h>

#include <algorithm>

namespace axrun::search::schedules {
namespace {

using Kind = Decision::Kind;

/// Pieces of an axis are whole numbers of these.
int64_t unit_of(const Specification& s, Axis axis) {
  constexpr int64_t steps = 64;
  if (axis == Axis::depth) return steps;
  return axis == Axis::rows ? s.tile_rows : s.tile_columns;
}

/// Pieces of an axis: powers of four of what fills registers, so that specifications share theirs. (Powers of
/// two take ten times as long to search, for what takes less than one percent less.)
std::vector<int32_t> pieces(const Specification& s, Axis axis) {
  std::vector<int32_t> sizes;
  for (int64_t size = unit_of(s, axis); size < s.extent(axis); size *= 4)
    sizes.push_back(static_cast<int32_t>(size));
  return sizes;
}

/// The operand is read in several tiles; a result: is added to several times.
bool is_used_again(const Specification& s, Operand operand) {
  switch (operand) {
    case Operand::left:
      return s.extent(Axis::columns) > s.tile_columns;
    case Operand::right:
      return s.extent(Axis::rows) > s.tile_rows;
    case Operand::result:
      break;
  }
  return s.accumulates;
}

/// Whether tiles in registers can read, or write, the operand in this layout.
bool is_readable(Operand operand, Layout layout) {
  return operand == Operand::left || layout != Layout::across;
}

After after(Axis axis) {
  return axis == Axis::rows ? After::rows : axis == Axis::columns ? After::columns : After::depth;
}
After after(Operand operand) {
  return operand == Operand::left ? After::left : operand == Operand::right ? After::right : After::result;
}
/// Loops around loops come in order of the axes, moves in order of the operands.
bool is_in_order(const Specification& s, Axis axis) {
  return s.after < After::rows || s.after > After::depth || after(axis) > s.after;
}
bool is_in_order(const Specification& s, Operand operand) {
  return s.after < After::left || after(operand) > s.after;
}

}  // namespace

std::vector<Decision> decisions(const CostModel& cost, const Specification& s) {
  std::vector<Decision> found;
  const auto readable = [&](Operand operand) { return is_readable(operand, s.layout(operand)); };
  if (s.extent(Axis::rows) <= s.tile_rows && s.extent(Axis::columns) <= s.tile_columns &&
      std::all_of(operands.begin(), operands.end(), readable))
    found.push_back({.kind = Kind::kernel});
  for (const Axis axis : axes) {
    if ((axis == Axis::depth && !s.accumulates) || !is_in_order(s, axis)) continue;
    for (const int32_t size : pieces(s, axis)) {
      found.push_back({.kind = Kind::tile, .axis = axis, .size = size});
      if (s.spread && axis != Axis::depth)
        found.push_back({.kind = Kind::spread, .axis = axis, .size = size});
    }
  }
  for (const Operand operand : operands) {
    if ((!is_used_again(s, operand) && readable(operand)) || !is_in_order(s, operand)) continue;
    // To the nearest level that has room; what is read as it lies gets there by itself, and sums wait tile by
    // tile.
    const auto move = [&](Layout layout) {
      for (Level level = 1; level < s.level(operand); ++level) {
        if (s.limits[static_cast<size_t>(level - 1)].bytes() < cost.bytes(s, operand, layout)) continue;
        found.push_back({.kind = Kind::move, .operand = operand, .level = level, .layout = layout});
        break;
      }
    };
    move(Layout::panels);
    if (operand != Operand::result && s.layout(operand) != Layout::panels && readable(operand))
      move(s.layout(operand));
  }
  if (!s.accumulates && !pieces(s, Axis::depth).empty()) found.push_back({.kind = Kind::accumulate});
  std::erase_if(found, [&](const Decision& decision) { return !expand(cost, s, decision); });
  return found;
}

std::optional<Expansion> expand(const CostModel& cost, const Specification& s, const Decision& decision) {
  Expansion result;
  const auto part = [&](const Specification& whole, int64_t count, double weight) {
    if (count != 0 && weight > 0) result.parts.push_back({count, weight, whole});
  };
  switch (decision.kind) {
    case Kind::kernel:
      if (s.extent(Axis::rows) > s.tile_rows || s.extent(Axis::columns) > s.tile_columns ||
          !cost.fits_registers(s.extent(Axis::rows), s.extent(Axis::columns)))
        return std::nullopt;
      result.own = cost.kernel(s);
      return result;
    case Kind::accumulate: {
      if (s.accumulates) return std::nullopt;
      Specification next = s;
      next.accumulates = true;
      next.spread = false;
      // Other loops might as well have come before.
      if (s.after < After::left) next.after = After::columns;
      result.own = cost.clear(s);
      part(next, 1, 1);
      return result;
    }
    case Kind::move: {
      const auto which = static_cast<size_t>(decision.operand);
      if (decision.level == 0 || decision.level >= s.levels[which]) return std::nullopt;
      const int64_t bytes = cost.bytes(s, decision.operand, decision.layout);
      Specification next = s;
      Limit& left = next.limits[static_cast<size_t>(decision.level - 1)];
      if (left.bytes() < bytes) return std::nullopt;
      left = Limit::at_most(left.bytes() - bytes);
      next.levels[which] = decision.level;
      next.layouts[which] = decision.layout;
      next.after = after(decision.operand);
      next.spread = false;
      result.own = cost.move(s, decision.operand, decision.level, decision.layout);
      part(next, 1, 1);
      return result;
    }
    case Kind::tile:
    case Kind::spread:
      break;
  }
  const bool spread = decision.kind == Kind::spread;
  const auto axis = static_cast<size_t>(decision.axis);
  const int64_t extent = s.extents[axis], size = decision.size;
  if (size <= 0 || size >= extent || (spread && !s.spread)) return std::nullopt;
  if (decision.axis == Axis::depth && (spread || !s.accumulates)) return std::nullopt;
  if (size % unit_of(s, decision.axis) != 0) return std::nullopt;
  const int64_t whole = extent / size, iterations = whole + (extent % size == 0 ? 0 : 1);
  Specification next = s;
  next.spread = false;
  next.extents[axis] = static_cast<int32_t>(size);
  next.after = spread ? After::anything : after(decision.axis);
  result.own = spread ? cost.spread(iterations) : cost.loop(iterations);
  if (!spread) {
    part(next, whole, static_cast<double>(whole));
    next.extents[axis] = static_cast<int32_t>(extent % size);
    part(next, extent % size == 0 ? 0 : 1, 1);
    return result;
  }
  // The busiest core has so many whole pieces; one has what is left over instead of one of these.
  const int64_t turns = (iterations + cost.cores() - 1) / cost.cores();
  const bool rest_is_last = iterations % cost.cores() == 1 && extent % size != 0;
  part(next, whole, static_cast<double>(turns - (rest_is_last ? 1 : 0)));
  next.extents[axis] = static_cast<int32_t>(extent % size);
  part(next, extent % size == 0 ? 0 : 1, rest_is_last ? 1 : 0);
  return result;
}

Limits used(const CostModel& cost, const Specification& s, const Decision& decision, const Limits& parts) {
  Limits limits = parts;
  if (decision.kind != Kind::move) return limits;
  Limit& level = limits[static_cast<size_t>(decision.level - 1)];
  const int64_t bytes = cost.bytes(s, decision.operand, decision.layout);
  level = Limit::at_least(bytes + level.bytes());
  return limits;
}

std::string to_text(const Decision& d) {
  switch (d.kind) {
    case Kind::kernel:
      return "kernel";
    case Kind::accumulate:
      return "accumulate";
    case Kind::move:
      return fmt::format("move {} to {} in {}", name_of(d.operand), d.level, name_of(d.layout));
    case Kind::tile:
      return fmt::format("tile {} by {}", name_of(d.axis), d.size);
    case Kind::spread:
      break;
  }
  return fmt::format("spread {} by {}", name_of(d.axis), d.size);
}

}  // namespace axrun::search::schedules
