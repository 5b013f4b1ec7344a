#include "search/rebuild.h"

#include "ir/error.h"

namespace axrun::search {

using ir::Expr;
using ir::Indices;
using ir::Scalar;
using ir::ScalarOp;
using ir::TensorRef;

Scalar ScalarCopier::operator()(ir::ExprId id) {
  const auto found = known_.find(id);
  if (found != known_.end()) return found->second;
  Expr expr = from_.exprs[static_cast<size_t>(id)];
  Scalar result = rewrite_(*this, id, expr);
  if (!result.defined()) {
    AXRUN_ASSERT(expr.op != ScalarOp::axis && expr.op != ScalarOp::load);
    for (ir::ExprId& argument : expr.args) {
      if (argument != ir::none) argument = (*this)(argument).id();
    }
    result = Scalar(&to_, to_.append(std::move(expr)));
  }
  known_[id] = result;
  return result;
}

TensorRef rebuild_stage(ir::Builder& builder, const ir::Program& from, const ir::Stage& old,
                        const NewStage& stage) {
  const std::string& name = from.tensors[static_cast<size_t>(old.results[0])].name;
  if (old.kind == ir::StageKind::map || stage.reduce_axes.empty()) {
    return builder.map_grouped(stage.axes, stage.groups, stage.body, name);
  }
  AXRUN_ASSERT(old.kind == ir::StageKind::reduce);
  return builder.reduce_grouped(
      old.monoid.kind, stage.axes, stage.groups, stage.reduce_axes,
      [&](const Indices& axes, const Indices& reduce_axes) {
        Indices point = axes;
        point.insert(point.end(), reduce_axes.begin(), reduce_axes.end());
        return stage.body(point);
      },
      name);
}

std::map<ir::TensorId, TensorRef> copy_operands(ir::Builder& builder, const ir::Program& from,
                                                const std::function<ir::Dims(ir::TensorId)>& dims_of) {
  std::map<ir::TensorId, TensorRef> tensors;
  for (size_t k = 0; k < from.operands.size(); ++k) {
    const ir::TensorId id = from.operands[k];
    if (id == ir::none) continue;
    const ir::TensorDecl& declared = from.tensors[static_cast<size_t>(id)];
    tensors[id] = builder.operand(static_cast<int>(k), declared.type, dims_of(id), declared.name);
  }
  return tensors;
}

ir::Program finish_rebuilding(ir::Builder& builder, const ir::Program& from,
                              const std::map<ir::TensorId, TensorRef>& tensors) {
  for (const ir::TensorId id : from.outputs) builder.output(tensors.at(id));
  ir::Program program = builder.finish();
  program.operands.resize(from.operands.size(), ir::none);
  return program;
}

}  // namespace axrun::search
