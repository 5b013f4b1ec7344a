#include "search/piece.h"

#include <algorithm>
#include <set>

#include "ir/error.h"
#include "ir/types.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Program;
using ir::TensorId;

Dim AxisPart::tiles(int64_t tile, const SizeFacts& facts) const {
  if (block == 0) return ceil_div(rest, Dim(tile));
  AXRUN_ASSERT(block % tile == 0);
  const Dim most(block / tile);
  return facts.is_multiple(total, block) ? most : min(most, ceil_div(total, Dim(tile)) - most * number);
}

bool AxisPart::has_whole_tiles(int64_t tile, const SizeFacts& facts) const {
  return facts.is_multiple(block == 0 ? rest : total, tile);
}

AxisPart part_of(const PieceContext& context, const ir::Stage& stage, int axis) {
  const auto found = context.parts.find({&stage, axis});
  if (found != context.parts.end()) return found->second;
  const auto at = static_cast<size_t>(axis);
  const size_t axes = stage.axes.size();
  return {Dim(0), at < axes ? stage.axes[at].extent : stage.reduce_axes[at - axes].extent};
}

bool is_stored(const PieceContext& context, TensorId tensor) {
  return context.buffers.count(tensor) != 0 || context.kept.count(tensor) != 0;
}

ir::loop::Access place_in(const KeptPart& kept, const Dims& indices) {
  ir::loop::Access access{kept.buffer, {}};
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!kept.dimensions[d].single) access.indices.push_back(indices[d] - kept.dimensions[d].first);
  }
  return access;
}

ir::loop::Access result_at(const PieceContext& context, const ir::Stage& stage, const Dims& point) {
  const TensorId tensor = stage.results[0];
  const auto kept = context.kept.find(tensor);
  if (kept != context.kept.end()) return place_in(kept->second, element_at(stage, point));
  return {context.buffers.at(tensor), element_at(stage, point)};
}

Dims element_at(const ir::Stage& stage, const Dims& point) {
  Dims indices;
  for (const std::vector<int>& group : stage.groups) {
    Dim index(0);
    for (const int axis : group) {
      index = index * stage.axes[static_cast<size_t>(axis)].extent + point[static_cast<size_t>(axis)];
    }
    indices.push_back(index);
  }
  return indices;
}

namespace {

bool stage_reads(const Program& program, const ir::Stage& stage, TensorId tensor) {
  if (stage.kind == ir::StageKind::scan) {
    const auto is_in = [&](const std::vector<TensorId>& list) {
      return std::find(list.begin(), list.end(), tensor) != list.end();
    };
    return is_in(stage.captures) || is_in(stage.initial);
  }
  for (const ir::ExprId load : loads_of(program, stage.body[0])) {
    if (static_cast<TensorId>(program.exprs[static_cast<size_t>(load)].integer) == tensor) return true;
  }
  return false;
}

}  // namespace

bool is_read_inside(const Program& program, TensorId tensor, Range range) {
  for (size_t s = range.first; s < range.first + range.count; ++s) {
    if (stage_reads(program, program.stages[s], tensor)) return true;
  }
  return false;
}

bool is_read_outside(const Program& program, TensorId tensor, Range range) {
  if (std::find(program.outputs.begin(), program.outputs.end(), tensor) != program.outputs.end()) return true;
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const bool inside = s >= range.first && s < range.first + range.count;
    if (!inside && stage_reads(program, program.stages[s], tensor)) return true;
  }
  return false;
}

double bytes_moved(const PieceContext& context, const std::vector<const ir::Stage*>& stages) {
  std::set<TensorId> tensors;
  for (const ir::Stage* stage : stages) {
    for (const ir::ExprId load : loads_of(context.program, stage->body[0]))
      tensors.insert(static_cast<TensorId>(context.program.exprs[static_cast<size_t>(load)].integer));
  }
  for (const ir::Stage* stage : stages) tensors.erase(stage->results[0]);
  tensors.insert(stages.back()->results[0]);
  double bytes = 0;
  for (const TensorId id : tensors) {
    const ir::TensorDecl& tensor = context.program.tensors[static_cast<size_t>(id)];
    bytes += static_cast<double>(context.facts.typical(ir::product(tensor.dims)) *
                                 static_cast<int64_t>(size_of(tensor.type)));
  }
  return bytes;
}

}  // namespace axrun::search
