#pragma once

#include <string>
#include <vector>

#include "jit/target.h"
#include "search/schedules/specification.h"

namespace axrun::search::schedules {

/// What schedules of products of f32 take, in nanoseconds of the slowest core. Affine and monotone: a
/// schedule takes what its decisions take by themselves and a positive multiple of what its parts take.
/// Constants are the target's measured peak and bandwidths, usual ones where it was not calibrated.
class CostModel {
 public:
  explicit CostModel(const jit::Target& target);

  Level memory() const { return static_cast<Level>(caches_.size() + 1); }
  int cores() const { return cores_; }
  int64_t lanes() const { return lanes_; }
  /// What each cache has room for before anything is moved, less a share for what passes through.
  Limits limits() const;
  /// Whether the registers hold the sums of so large a tile with what it needs besides.
  bool fits_registers(int64_t rows, int64_t columns) const;

  /// All of the depth of one tile in registers.
  double kernel(const Specification& tile) const;
  /// Bringing an operand to a nearer level in a layout; of a result: and what was collected there back.
  double move(const Specification& from, Operand operand, Level level, Layout layout) const;
  /// Zeros as what is added to.
  double clear(const Specification& specification) const;
  /// Loops by themselves.
  double loop(int64_t iterations) const;
  double spread(int64_t iterations) const;

  /// No schedule of the specification takes less: what its multiplications take when everything is near, and
  /// what it takes to read each operand once.
  double lower_bound(const Specification& specification) const;

  /// Everything about the target that costs depend on: equal texts, equal costs.
  std::string text() const;

  /// Bytes that an operand takes in a layout, whole cache lines.
  int64_t bytes(const Specification& specification, Operand operand, Layout layout) const;

 private:
  /// Per nanosecond, of one core.
  double bandwidth(Level level) const;
  /// Cycles of a step along the depth of a tile of so many rows and columns, with operands at these levels.
  double step_cycles(const Specification& specification, int64_t rows, int64_t columns, Level left,
                     Level right) const;

  /// Of a move: to write what has another layout then.
  double arranging(const Specification& from, Operand operand, Level level, Layout layout) const;
  /// Of reading what lies at a level for the first time, as it lies there: the part that tiles wait for.
  double seen(Level level) const;
  /// No move of all of the operand, whole or part by part, takes less.
  double least_move(const Specification& from, Operand operand, Layout layout) const;
  /// The tiles in registers, operands where they are.
  double multiply(const Specification& specification) const;

  struct Cache {
    int64_t bytes = 0;
    double bytes_per_nanosecond = 0;
  };
  std::vector<Cache> caches_;
  double memory_bytes_per_nanosecond_;
  double nanoseconds_per_cycle_;
  int64_t lanes_, ports_, registers_;
  int cores_;
};

}  // namespace axrun::search::schedules
