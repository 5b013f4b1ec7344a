#include "search/schedules/specification.h"

#include <fmt/format.h>

#include <algorithm>

namespace axrun::search::schedules {
namespace {

constexpr int64_t least_step = 64;  // a line

/// 0, then lines times 1, 1.5, 2, 3, 4, 6, ...
constexpr int64_t bytes_at(int step) {
  if (step == 0) return 0;
  const int octave = (step - 1) / 2;
  const int64_t power = least_step << octave;
  return step % 2 == 1 ? power : power + power / 2;
}
constexpr int last_step = 80;  // more than any memory has

}  // namespace

Limit Limit::at_most(int64_t bytes) {
  Limit limit;
  while (limit.step_ < last_step && bytes_at(limit.step_ + 1) <= bytes) ++limit.step_;
  return limit;
}

Limit Limit::at_least(int64_t bytes) {
  Limit limit;
  while (limit.step_ < last_step && bytes_at(limit.step_) < bytes) ++limit.step_;
  return limit;
}

int64_t Limit::bytes() const { return bytes_at(step_); }

Limit Limit::of_step(uint8_t step) {
  Limit limit;
  limit.step_ = static_cast<uint8_t>(std::min<int>(step, last_step));
  return limit;
}

std::array<Axis, 2> axes_of(Operand operand) {
  switch (operand) {
    case Operand::left:
      return {Axis::rows, Axis::depth};
    case Operand::right:
      return {Axis::depth, Axis::columns};
    case Operand::result:
      break;
  }
  return {Axis::rows, Axis::columns};
}

bool depends_on(Operand operand, Axis axis) {
  const auto [first, second] = axes_of(operand);
  return axis == first || axis == second;
}

const char* name_of(Axis axis) {
  switch (axis) {
    case Axis::rows:
      return "rows";
    case Axis::columns:
      return "columns";
    case Axis::depth:
      break;
  }
  return "depth";
}

const char* name_of(Operand operand) {
  switch (operand) {
    case Operand::left:
      return "left";
    case Operand::right:
      return "right";
    case Operand::result:
      break;
  }
  return "result";
}

const char* name_of(Layout layout) {
  switch (layout) {
    case Layout::lines:
      return "lines";
    case Layout::across:
      return "across";
    case Layout::panels:
      break;
  }
  return "panels";
}

std::string to_text(const Specification& s) {
  std::string text = fmt::format("{}x{}x{}{}, tile {}x{}", s.extents[0], s.extents[1], s.extents[2],
                                 s.accumulates ? " added" : "", s.tile_rows, s.tile_columns);
  for (const Operand operand : operands)
    text += fmt::format(", {} at {} in {}", name_of(operand), s.level(operand), name_of(s.layout(operand)));
  text += ", limits";
  for (const Limit& limit : s.limits) text += fmt::format(" {}", limit.bytes());
  return text + (s.spread ? ", spread" : "");
}

}  // namespace axrun::search::schedules
