#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

namespace axrun::search::schedules {

/// Axes of a product result[rows, columns] (+)= sum over depth of left[rows, depth] * right[depth, columns].
enum class Axis : uint8_t { rows, columns, depth };
enum class Operand : uint8_t { left, right, result };
inline constexpr size_t operand_count = 3, axis_count = 3;
inline constexpr std::array<Operand, operand_count> operands = {Operand::left, Operand::right,
                                                                Operand::result};
inline constexpr std::array<Axis, axis_count> axes = {Axis::rows, Axis::columns, Axis::depth};

/// How the elements of an operand lie in memory.
enum class Layout : uint8_t {
  lines,   ///< contiguous along the last axis: depth of the left side, columns of the right side and the
           ///< result
  across,  ///< contiguous along the other axis
  panels,  ///< tile by tile, in the order in which the register tile reads it
};

/// Of a memory hierarchy: 1 is the nearest cache, then farther ones, memory last. Results of a register tile
/// are collected in registers, which are no level of their own here.
using Level = uint8_t;
inline constexpr size_t most_caches = 3;

/// What is left of the caches, by half powers of two of lines: 0, 1, 1.5, 2, 3, 4, 6, ... lines.
class Limit {
 public:
  constexpr Limit() = default;
  /// The largest one that is not more than so many bytes.
  static Limit at_most(int64_t bytes);
  /// The smallest one that is not less.
  static Limit at_least(int64_t bytes);
  int64_t bytes() const;
  /// Their number, and the one of a number; the largest one where there is none.
  uint8_t step() const { return step_; }
  static Limit of_step(uint8_t step);
  auto operator<=>(const Limit&) const = default;

 private:
  uint8_t step_ = 0;
};
using Limits = std::array<Limit, most_caches>;

/// What the decision before was, where the order of two of them makes no difference: only one of both orders
/// is looked at.
enum class After : uint8_t { anything, rows, columns, depth, left, right, result };

/// One product to be scheduled: what the dynamic program finds the best schedules of. After Morello
/// (arXiv 2505.01637): sizes, where each operand lies and how, and what memory may be used on the way.
struct Specification {
  std::array<int32_t, axis_count> extents = {1, 1, 1};
  /// Rows and columns of the tile in registers; of panels, too. The same in all of a schedule.
  int16_t tile_rows = 1, tile_columns = 1;
  std::array<Level, operand_count> levels = {};
  std::array<Layout, operand_count> layouts = {};
  bool accumulates = false;  ///< adds to the result, which holds something
  bool spread = false;       ///< a loop may be spread over cores: the first decision
  After after = After::anything;
  Limits limits;

  int64_t extent(Axis axis) const { return extents[static_cast<size_t>(axis)]; }
  Level level(Operand operand) const { return levels[static_cast<size_t>(operand)]; }
  Layout layout(Operand operand) const { return layouts[static_cast<size_t>(operand)]; }

  bool operator==(const Specification&) const = default;
};

/// Rows and columns of an operand as the axes that they are.
std::array<Axis, 2> axes_of(Operand operand);
bool depends_on(Operand operand, Axis axis);

/// "96x3136x27, tile 8x48, left memory lines, right 2 panels, result memory lines, limits 24576 ..."
std::string to_text(const Specification& specification);
const char* name_of(Axis axis);
const char* name_of(Operand operand);
const char* name_of(Layout layout);

}  // namespace axrun::search::schedules
