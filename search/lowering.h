#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/program.h"
#include "jit/target.h"

namespace axrun::search {

/// Sizes of the expression and the range for which a kernel is wanted.
using Sizes = std::vector<ir::loop::Size>;

/// The schedule that was written, and how it was found.
struct ScheduleReport {
  std::string text = "default";  ///< what was decided
  double expected = 0;           ///< nanoseconds of the slowest core by the cost model; 0: no model says
  // Of the search for it; nothing is searched for the default one.
  int64_t states = 0;  ///< specifications searched
  double seconds = 0;
  double gap = 0;  ///< how much more than none can take less than the best one takes: a share
};

/// A loop program for an expression, or why there is none.
struct Lowered {
  std::optional<ir::loop::LoopProgram> program;
  /// What `program` is to be proved against: the given expression, simplified. Operands and outputs have the
  /// same positions, types and memory, but perhaps other dims (adjacent ones merged). Its stages are those
  /// that the program's statements name.
  ir::Program expression;
  std::string kind;    ///< of its pieces, in order: "contraction", "rows", "map", "contraction+map", ...
  std::string reason;  ///< where there is no program
  /// How many schedules there are besides the default one, at most: those that search expects to take least.
  /// They are looked for when the first one is asked for; then some may turn out to be missing.
  size_t alternatives = 0;
  ScheduleReport schedule;
};

/// A schedule of an expression on a target: the default one (rank 0), or one of its alternatives (1, 2, ...,
/// the most promising first). Without an alternative of this rank there is no program. sizes: one entry for
/// every symbol of the expression. Input buffers of the result are the operands of Lowered::expression that
/// are not none, in order and by name; output buffers its outputs. What is computed from operands of
/// `constant` only (one flag per operand of the expression) stands in statements of their own at the
/// beginning of the program, so that it can be done once.
Lowered lower(const ir::Program& expression, const Sizes& sizes, const std::vector<bool>& constant,
              const jit::Target& target, size_t rank = 0);

}  // namespace axrun::search
