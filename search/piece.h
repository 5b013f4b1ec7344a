#pragma once

#include <map>
#include <string>
#include <vector>

#include "jit/target.h"
#include "search/loop_writer.h"
#include "search/size_facts.h"
#include "search/stage_values.h"

namespace axrun::search {

/// What is passed of an axis: from `first` on all that there is, or a block of it.
struct AxisPart {
  ir::Dim first;
  ir::Dim rest;                     ///< elements of the axis from there on
  int64_t block = 0;                ///< how many of them at most; 0: all
  ir::Dim number = {}, total = {};  ///< of a block: how many are before it; extent of the axis

  /// How many tiles it has; a block must have whole ones. Tile t has min(tile, rest - t * tile) elements.
  ir::Dim tiles(int64_t tile, const SizeFacts& facts) const;
  /// Whether every tile of every part is a whole one.
  bool has_whole_tiles(int64_t tile, const SizeFacts& facts) const;
};

/// A part of a tensor in a buffer: per dimension where it begins, and whether it is a single index, which the
/// buffer lacks.
struct KeptPart {
  struct Dimension {
    ir::Dim first;
    bool single = false;
  };
  int buffer = ir::none;
  std::vector<Dimension> dimensions;
};

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
  /// Parts of axes that loops around the piece have decided; kinds that do not ask part_of have none around.
  std::map<std::pair<const ir::Stage*, int>, AxisPart> parts = {};
  /// Tensors of which there is a part at a time, by dimension, for the pieces inside of such loops.
  std::map<ir::TensorId, KeptPart> kept = {};
};

/// The part of an axis of a stage that is to be written: all of it where no loop has decided.
AxisPart part_of(const PieceContext& context, const ir::Stage& stage, int axis);

/// Whether the elements of a tensor have a place outside of the piece that computes them, and where the
/// result of a stage goes at a point of its axes.
bool is_stored(const PieceContext& context, ir::TensorId tensor);
ir::loop::Access result_at(const PieceContext& context, const ir::Stage& stage, const ir::Dims& point);
ir::loop::Access place_in(const KeptPart& kept, const ir::Dims& indices);

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
