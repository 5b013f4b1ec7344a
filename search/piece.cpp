#include "search/piece.h"

#include <algorithm>
#include <set>

#include "ir/types.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Program;
using ir::TensorId;

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
