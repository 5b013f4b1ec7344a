#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/target.h"
#include "search/loop_writer.h"
#include "search/size_facts.h"
#include "search/stage_values.h"

namespace axrun::search {

/// What the kinds of schedules work on: consecutive stages of an expression become a few top-level
/// statements; what passes between pieces is a tensor in memory.
struct PieceContext {
  const ir::Program& program;
  const SizeFacts& facts;
  const jit::Target& target;
  std::vector<bool> constant;  ///< per tensor: the same in every run
  LoopWriter& writer;
  StageValues& values;
  /// Where tensors are that have a buffer in memory: operands, outputs, and what passes between pieces.
  std::map<ir::TensorId, int> buffers;
};

/// Consecutive stages of a program.
struct Range {
  size_t first = 0;
  size_t count = 0;
};

/// The index of a stage's result at a point of its axes.
ir::Dims element_at(const ir::Stage& stage, const ir::Dims& point);

/// Reads of `tensor` by the stages of a range, or by all others, outputs of the program included.
bool is_read_inside(const ir::Program& program, ir::TensorId tensor, Range range);
bool is_read_outside(const ir::Program& program, ir::TensorId tensor, Range range);

/// Bytes of the operands of stages, each tensor once, and of the last one's result; what passes between the
/// stages does not count.
double bytes_moved(const PieceContext& context, const std::vector<const ir::Stage*>& stages);

}  // namespace axrun::search
