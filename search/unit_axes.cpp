#include "search/unit_axes.h"

#include "search/rebuild.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::Indices;
using ir::Program;
using ir::Scalar;
using ir::TensorRef;

namespace {

Dims without_units(const Dims& dims) {
  Dims kept;
  for (const Dim& dim : dims) {
    if (dim != Dim(1)) kept.push_back(dim);
  }
  return kept;
}

class Dropper {
 public:
  explicit Dropper(const Program& from) : from_(from), builder_(from.name) {}

  Program run() {
    tensors_ = copy_operands(builder_, from_, [&](ir::TensorId id) { return without_units(dims_of(id)); });
    for (const ir::Stage& stage : from_.stages) {
      if (stage.kind == ir::StageKind::scan) {
        const std::vector<TensorRef> results =
            copy_scan(builder_, stage, drop_unit_axes(*stage.step), tensors_);
        for (size_t k = 0; k < results.size(); ++k) tensors_[stage.results[k]] = results[k];
      } else {
        tensors_[stage.results[0]] = copy(stage);
      }
    }
    return finish_rebuilding(builder_, from_, tensors_);
  }

 private:
  const Dims& dims_of(ir::TensorId id) const { return from_.tensors[static_cast<size_t>(id)].dims; }

  TensorRef copy(const ir::Stage& stage) {
    NewStage now;
    std::vector<int> place;  // of each axis among the new ones; none for those of extent 1
    const auto take = [&](const std::vector<ir::Axis>& axes, Dims& kept) {
      for (const ir::Axis& axis : axes) {
        const bool unit = axis.extent == Dim(1);
        place.push_back(unit ? ir::none : static_cast<int>(now.axes.size() + now.reduce_axes.size()));
        if (!unit) kept.push_back(axis.extent);
      }
    };
    take(stage.axes, now.axes);
    take(stage.reduce_axes, now.reduce_axes);
    const Dims& dims = dims_of(stage.results[0]);
    for (size_t d = 0; d < stage.groups.size(); ++d) {
      if (dims[d] == Dim(1)) continue;
      now.groups.emplace_back();
      for (const int axis : stage.groups[d]) {
        if (place[static_cast<size_t>(axis)] != ir::none)
          now.groups.back().push_back(place[static_cast<size_t>(axis)]);
      }
    }
    now.body = [&](const Indices& point) {
      ScalarCopier copier(from_, builder_, [&](ScalarCopier& copy, ir::ExprId, const Expr& expr) {
        if (expr.op == ir::ScalarOp::axis) {
          const int at = place[static_cast<size_t>(expr.integer)];
          return at == ir::none ? builder_.integer(0) : point[static_cast<size_t>(at)];
        }
        if (expr.op != ir::ScalarOp::load) return Scalar();
        const auto tensor = static_cast<ir::TensorId>(expr.integer);
        Indices indices;
        for (size_t d = 0; d < expr.indices.size(); ++d) {
          if (dims_of(tensor)[d] != Dim(1)) indices.push_back(copy(expr.indices[d]));
        }
        const TensorRef& source = tensors_.at(tensor);
        if (expr.args[0] == ir::none) return source(indices);
        return source.guarded(indices, copy(expr.args[0]), copy(expr.args[1]));
      });
      return copier(stage.body[0]);
    };
    return rebuild_stage(builder_, from_, stage, now);
  }

  const Program& from_;
  ir::Builder builder_;
  std::map<ir::TensorId, TensorRef> tensors_;
};

}  // namespace

Program drop_unit_axes(const Program& program) { return Dropper(program).run(); }

}  // namespace axrun::search
