// Scatter stages: targets and values are computed in lanes, and applied one after the other.
#include <algorithm>
#include <bit>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/interpreter/fold.h"
#include "ir/interpreter/stage.h"
#include "ir/interpreter/workspace.h"

namespace axrun::ir::interpreter {
namespace {

ScalarOp operation(ScatterCombine combine) {
  switch (combine) {
    case ScatterCombine::add:
      return ScalarOp::add;
    case ScatterCombine::mul:
      return ScalarOp::mul;
    case ScatterCombine::min:
      return ScalarOp::min;
    default:
      return ScalarOp::max;
  }
}

/// One lane of a register, its bits.
int64_t lane_of(Workspace& workspace, const Register& reg, int lane) {
  return workspace.lanes<int64_t>(reg.offset)[reg.uniform ? 0 : lane];
}

void combine_element(Tensor& tensor, ScatterCombine combine, ElementType type, int64_t position,
                     int64_t bits) {
  if (is_float(type)) {
    const double old = tensor.get_real(position);
    tensor.set_real(position, real_binary(operation(combine), old, std::bit_cast<double>(bits)));
  } else {
    tensor.set_int(position, *integer_binary(operation(combine), type, tensor.get_int(position), bits));
  }
}

}  // namespace

void StageCode::compile_scatter(const StageContext& context) {
  const Stage& stage = context.stage;
  const Tensor& base = context.tensors[static_cast<size_t>(stage.base)];
  if (base.shape() != shapes_[0]) {
    throw Error(Fault::user, context.where + ": a scatter into shape " + to_string(base.shape()) +
                                 " cannot give shape " + to_string(shapes_[0]));
  }
  const ElementType declared = context.program.tensors[static_cast<size_t>(stage.results[0])].type;
  AXRUN_ASSERT(stage.target.size() == shapes_[0].size());
  AXRUN_ASSERT(context.program.exprs[static_cast<size_t>(stage.body[0])].type == declared);
  Layout layout;
  layout.extents = extents_of(stage.axes, context);
  points_ = points_of(layout.extents, context.where);
  if (points_ == 0) return;
  lanes_ = points_;
  layout.lane_end = layout.loop_begin = layout.loop_end = layout.extents.size();
  layout.extents.push_back(context.scan_length);
  std::vector<ExprId> roots = stage.target;
  roots.push_back(stage.body[0]);
  if (stage.guard != none) roots.push_back(stage.guard);
  body_ = compile_body({context.program, context.bindings, context.tensors, context.where}, layout, roots);
}

Tensor StageCode::run_scatter(const StageContext& context, int64_t time) const {
  const Stage& stage = context.stage;
  const Tensor& base = context.tensors[static_cast<size_t>(stage.base)];
  const ElementType declared = context.program.tensors[static_cast<size_t>(stage.results[0])].type;
  const bool assign = stage.combine == ScatterCombine::assign;
  // Floats are combined in f64 and rounded once, at the end.
  const ElementType working = !assign && is_float(declared) ? ElementType::f64 : stored_[0];
  Tensor result = base.type() == working ? base.clone() : base.converted(working);
  if (points_ != 0) {
    const Shape strides = row_major_strides(result.shape());
    const size_t rank = strides.size();
    Workspace workspace(*body_, context.tensors, time);
    for (int64_t first = 0; first < points_; first += block_lanes) {
      const int count = static_cast<int>(std::min<int64_t>(block_lanes, points_ - first));
      workspace.start(0, first, count);
      workspace.run_block();
      for (int lane = 0; lane < count; ++lane) {
        if (stage.guard != none && lane_of(workspace, body_->roots[rank + 1], lane) == 0) continue;
        int64_t position = 0;
        for (size_t d = 0; d < rank; ++d) {
          const int64_t index = lane_of(workspace, body_->roots[d], lane);
          if (index < 0 || index >= result.shape()[d]) {
            throw Error(Fault::user, context.where + ": index " + std::to_string(index) +
                                         " is out of bounds for dimension " + std::to_string(d) +
                                         " of the result, whose size is " +
                                         std::to_string(result.shape()[d]));
          }
          position += index * strides[d];
        }
        const int64_t bits = lane_of(workspace, body_->roots[rank], lane);
        if (assign) {
          store_lanes(result, position, &bits, true, 1);
        } else {
          combine_element(result, stage.combine, declared, position, bits);
        }
      }
    }
  }
  return working == stored_[0] ? result : result.converted(stored_[0]);
}

}  // namespace axrun::ir::interpreter
