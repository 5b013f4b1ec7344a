#include "search/inline_maps.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ir/linear.h"
#include "search/rebuild.h"
#include "search/scalar_cost.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::ExprId;
using ir::Indices;
using ir::Program;
using ir::Scalar;
using ir::ScalarOp;
using ir::Stage;
using ir::TensorId;
using ir::TensorRef;

namespace {

Dim points_of(const Stage& stage) {
  Dim points = 1;
  for (const ir::Axis& axis : stage.axes) points = points * axis.extent;
  for (const ir::Axis& axis : stage.reduce_axes) points = points * axis.extent;
  return points;
}

/// The maps that are worth it, by their results.
std::map<TensorId, const Stage*> candidates(const Program& program, const SizeFacts& facts) {
  std::map<TensorId, const Stage*> found;
  const std::set<TensorId> scanned = read_by_scans(program);
  for (const Stage& stage : program.stages) {
    if (stage.kind != ir::StageKind::map) continue;
    const TensorId result = stage.results[0];
    if (std::find(program.outputs.begin(), program.outputs.end(), result) != program.outputs.end()) continue;
    if (scanned.count(result) != 0) continue;
    const double cost = scalar_cost(program, stage.body[0]);
    constexpr double cheap = 4, few = 4;
    double evaluations = 0;  // for each element
    for (const Stage& reader : program.stages) {
      if (reader.kind == ir::StageKind::scan) continue;
      // Products of integers pack both sides: every element is worked out once.
      const bool packs = cost <= cheap && reader.kind == ir::StageKind::reduce &&
                         expr_of(program, reader.body[0]).type == ir::ElementType::i32 &&
                         expr_of(program, reader.body[0]).op == ScalarOp::mul;
      for (const ExprId load : loads_of(program, reader.body[0])) {
        if (static_cast<TensorId>(expr_of(program, load).integer) != result) continue;
        const Dim points = points_of(reader), elements = points_of(stage);
        evaluations += points == elements || packs
                           ? 1.0
                           : static_cast<double>(facts.typical(points)) /
                                 static_cast<double>(std::max<int64_t>(1, facts.typical(elements)));
      }
    }
    if (cost == 0 || evaluations <= 1 || (cost <= cheap && evaluations <= few)) found[result] = &stage;
  }
  return found;
}

/// The index along each axis of a group whose merge is `index`, where index arithmetic can tell.
std::optional<Indices> split_index(ir::Builder& builder, const Scalar& index, const Dims& group,
                                   const Dims& scope) {
  Indices parts(group.size());
  auto rest = ir::linear_form(builder.program(), index.id());
  if (group.size() == 1) {
    parts[0] = index;
    return parts;
  }
  if (!rest) return std::nullopt;
  Indices axes(scope.size());
  for (const auto& [axis, value] : rest->coefficients) {
    Expr expr;
    expr.op = ScalarOp::axis;
    expr.integer = axis;
    axes[static_cast<size_t>(axis)] = Scalar(&builder, builder.append(std::move(expr)));
  }
  for (size_t k = group.size(); k-- > 1;) {
    ir::Linear outer, inner;
    Dim highest = 0;
    for (const auto& [axis, value] : rest->coefficients) {
      const Dim quotient = floor_div(value, group[k]);
      if (quotient * group[k] == value) {
        outer.coefficients[axis] = quotient;
        continue;
      }
      if (!value.is_constant() || value.value() < 0) return std::nullopt;
      inner.coefficients[axis] = value;
      highest = highest + value * (scope[static_cast<size_t>(axis)] - 1);
    }
    const Dim quotient = floor_div(rest->constant, group[k]);
    if (quotient * group[k] == rest->constant) {
      outer.constant = quotient;
    } else {
      if (!rest->constant.is_constant() || rest->constant.value() < 0) return std::nullopt;
      inner.constant = rest->constant;
      highest = highest + rest->constant;
    }
    const auto room = (group[k] - 1 - highest).constant();
    if (!room || *room < 0) return std::nullopt;
    parts[k] = ir::to_scalar(builder, inner, axes);
    rest = outer;
  }
  parts[0] = ir::to_scalar(builder, *rest, axes);
  return parts;
}

class Inliner {
 public:
  /// A load that a candidate cannot be written into.
  struct Refused {
    TensorId tensor;
  };

  Inliner(const Program& from, const std::map<TensorId, const Stage*>& inlined, const SizeFacts& facts)
      : from_(from), inlined_(inlined), facts_(facts), builder_(from.name) {}

  Program run() {
    tensors_ = copy_operands(builder_, from_,
                             [&](TensorId id) { return from_.tensors[static_cast<size_t>(id)].dims; });
    for (const Stage& stage : from_.stages) {
      if (stage.kind == ir::StageKind::scan) {
        const auto results = copy_scan(builder_, stage, inline_maps(*stage.step, facts_), tensors_);
        for (size_t k = 0; k < results.size(); ++k) tensors_[stage.results[k]] = results[k];
      } else if (inlined_.count(stage.results[0]) == 0) {
        tensors_[stage.results[0]] = copy(stage);
      }
    }
    return finish_rebuilding(builder_, from_, tensors_);
  }

 private:
  TensorRef copy(const Stage& stage) {
    NewStage now;
    for (const ir::Axis& axis : stage.axes) now.axes.push_back(axis.extent);
    for (const ir::Axis& axis : stage.reduce_axes) now.reduce_axes.push_back(axis.extent);
    now.groups = stage.groups;
    scope_ = now.axes;
    scope_.insert(scope_.end(), now.reduce_axes.begin(), now.reduce_axes.end());
    now.body = [&](const Indices& point) { return value(stage.body[0], point); };
    return rebuild_stage(builder_, from_, stage, now);
  }

  /// An expression of `from` where its stage's axes have the values `point`.
  Scalar value(ExprId id, const Indices& point) {
    ScalarCopier copier(from_, builder_, [&](ScalarCopier& copy, ExprId, const Expr& expr) {
      if (expr.op == ScalarOp::axis) return point[static_cast<size_t>(expr.integer)];
      return expr.op == ScalarOp::load ? load(copy, expr) : Scalar();
    });
    return copier(id);
  }

  Scalar load(ScalarCopier& copy, const Expr& expr) {
    const auto tensor = static_cast<TensorId>(expr.integer);
    Indices indices;
    for (const ExprId index : expr.indices) indices.push_back(copy(index));
    const bool guarded = expr.args[0] != ir::none;
    const auto map = inlined_.find(tensor);
    if (map == inlined_.end()) {
      const TensorRef& source = tensors_.at(tensor);
      const bool fixed = std::all_of(expr.indices.begin(), expr.indices.end(), [&](ExprId index) {
        return expr_of(from_, index).op == ScalarOp::integer;
      });
      if (inside_.defined() && guarded) throw Refused{guarded_};
      if (guarded) return source.guarded(indices, copy(expr.args[0]), copy(expr.args[1]));
      if (!inside_.defined() || fixed) return source(indices);
      return source.guarded(indices, inside_, builder_.literal(expr.type, 0));
    }
    const Stage& stage = *map->second;
    Indices point(stage.axes.size());
    for (size_t d = 0; d < stage.groups.size(); ++d) {
      Dims group;
      for (const int axis : stage.groups[d]) group.push_back(stage.axes[static_cast<size_t>(axis)].extent);
      if (group.empty()) continue;
      // Whether an index that is data is inside is known where it is looked up only.
      if (!loads_of(from_, expr.indices[d]).empty()) throw Refused{tensor};
      const auto parts = split_index(builder_, indices[d], group, scope_);
      if (!parts) throw Refused{tensor};
      for (size_t k = 0; k < group.size(); ++k) point[static_cast<size_t>(stage.groups[d][k])] = (*parts)[k];
    }
    if (!guarded) return value(stage.body[0], point);
    // Nothing may be read where the guard is false.
    const Expr& body = expr_of(from_, stage.body[0]);
    const bool moves = body.op == ScalarOp::load && body.args[0] == ir::none &&
                       inlined_.count(static_cast<TensorId>(body.integer)) == 0;
    if (!moves) {
      // What integer products read is worked out where it is packed: from 0 where nothing may be read.
      if (!ir::is_integer(body.type) || inside_.defined()) throw Refused{tensor};
      guarded_ = tensor;
      inside_ = copy(expr.args[0]);
      const Scalar worked_out = value(stage.body[0], point);
      const Scalar inside = std::exchange(inside_, Scalar());
      return select(inside, worked_out, copy(expr.args[1]));
    }
    Indices source;
    for (const ExprId index : body.indices) source.push_back(value(index, point));
    return tensors_.at(static_cast<TensorId>(body.integer))
        .guarded(source, copy(expr.args[0]), copy(expr.args[1]));
  }

  const Program& from_;
  const std::map<TensorId, const Stage*>& inlined_;
  const SizeFacts& facts_;
  ir::Builder builder_;
  std::map<TensorId, TensorRef> tensors_;
  Dims scope_;                   ///< extents of the axes of the stage that is being written
  Scalar inside_;                ///< where loads may read at all; undefined: everywhere
  TensorId guarded_ = ir::none;  ///< the map that is written under this guard
};

}  // namespace

Program inline_maps(const Program& program, const SizeFacts& facts) {
  std::map<TensorId, const Stage*> inlined = candidates(program, facts);
  for (;;) {
    try {
      return Inliner(program, inlined, facts).run();
    } catch (const Inliner::Refused& refused) {
      inlined.erase(refused.tensor);
    }
  }
}

}  // namespace axrun::search
