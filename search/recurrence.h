#pragma once

#include <vector>

#include "search/pieces.h"

namespace axrun::search {

/// The step of a scan as a program of its own where the time is a given size or loop variable.
ir::Program step_at(const ir::Program& step, const ir::Dim& time);

/// The same with how it is cut.
struct RecurrenceStep {
  RecurrenceStep(const ir::Stage& scan, const ir::Dim& time, const SizeFacts& facts,
                 const std::vector<bool>& outer_constant, const jit::Target& target);
  ir::Program program;
  std::vector<bool> constant;  ///< per tensor of the step
  Pieces pieces;               ///< of the step; they point into `program`
};

/// A scan as a loop over time: every state has a buffer with one entry per time and one more, so that nothing
/// is overwritten; a step reads those of its time and writes the next. The pieces of a step are written as
/// they are anywhere else, but on one core: a step is short.
void write_recurrence(PieceContext& context, const ir::Stage& scan);

}  // namespace axrun::search
