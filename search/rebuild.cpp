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

TensorRef copy_stage(ir::Builder& builder, const ir::Program& from, const ir::Stage& stage,
                     const std::map<ir::TensorId, TensorRef>& tensors, const Scalar& time) {
  NewStage same;
  for (const ir::Axis& axis : stage.axes) same.axes.push_back(axis.extent);
  for (const ir::Axis& axis : stage.reduce_axes) same.reduce_axes.push_back(axis.extent);
  same.groups = stage.groups;
  same.body = [&](const Indices& point) {
    ScalarCopier copier(from, builder, [&](ScalarCopier& copy, ir::ExprId, const Expr& expr) {
      if (expr.op == ScalarOp::axis) return point[static_cast<size_t>(expr.integer)];
      if (expr.op == ScalarOp::time && time.defined()) return time;
      if (expr.op != ScalarOp::load) return Scalar();
      Indices indices;
      for (const ir::ExprId index : expr.indices) indices.push_back(copy(index));
      const TensorRef& source = tensors.at(static_cast<ir::TensorId>(expr.integer));
      if (expr.args[0] == ir::none) return source(indices);
      return source.guarded(indices, copy(expr.args[0]), copy(expr.args[1]));
    });
    return copier(stage.body[0]);
  };
  return rebuild_stage(builder, from, stage, same);
}

std::vector<TensorRef> copy_step(ir::Builder& builder, const ir::Program& step,
                                 const std::vector<TensorRef>& operands, const Scalar& time) {
  std::map<ir::TensorId, TensorRef> tensors;
  for (size_t k = 0; k < step.operands.size(); ++k) {
    if (step.operands[k] != ir::none) tensors[step.operands[k]] = operands[k];
  }
  for (const ir::Stage& stage : step.stages)
    tensors[stage.results[0]] = copy_stage(builder, step, stage, tensors, time);
  std::vector<TensorRef> outputs;
  for (const ir::TensorId id : step.outputs) outputs.push_back(tensors.at(id));
  return outputs;
}

std::vector<TensorRef> copy_scan(ir::Builder& builder, const ir::Stage& scan, const ir::Program& step,
                                 const std::map<ir::TensorId, TensorRef>& tensors) {
  std::vector<TensorRef> captures, initial;
  for (const ir::TensorId id : scan.captures) captures.push_back(tensors.at(id));
  for (const ir::TensorId id : scan.initial) initial.push_back(tensors.at(id));
  const auto copied = [&](ir::Builder& inner, const std::vector<TensorRef>& captured,
                          const std::vector<TensorRef>& states) {
    std::vector<TensorRef> operands = captured;
    operands.insert(operands.end(), states.begin(), states.end());
    const std::vector<TensorRef> outputs = copy_step(inner, step, operands);
    const auto emitted = outputs.begin() + static_cast<std::ptrdiff_t>(states.size());
    return ir::Builder::StepResult{{outputs.begin(), emitted}, {emitted, outputs.end()}};
  };
  return builder.scan(scan.length, captures, initial, copied, scan.name);
}

std::set<ir::TensorId> read_by_scans(const ir::Program& program) {
  std::set<ir::TensorId> tensors;
  for (const ir::Stage& stage : program.stages) {
    tensors.insert(stage.captures.begin(), stage.captures.end());
    tensors.insert(stage.initial.begin(), stage.initial.end());
  }
  return tensors;
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
