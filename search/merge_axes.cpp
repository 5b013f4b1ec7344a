#include "search/merge_axes.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/linear.h"
#include "search/axis_cuts.h"
#include "search/gathered_form.h"
#include "search/rebuild.h"
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

/// Which neighbours merge: entry k stands for the pair (k, k + 1).
using Pairs = std::vector<bool>;

Dim extent_of(const Stage& stage, size_t axis) {
  return axis < stage.axes.size() ? stage.axes[axis].extent
                                  : stage.reduce_axes[axis - stage.axes.size()].extent;
}

/// Starts with every pair merged and gives up pairs until nothing contradicts the rest: the largest
/// consistent choice. What the first one leaves out stays out.
class Choice {
 public:
  explicit Choice(const Program& program) : program_(program) {
    for (const ir::TensorDecl& tensor : program.tensors) {
      dims_.emplace_back(tensor.dims.empty() ? 0 : tensor.dims.size() - 1, true);
    }
    for (const TensorId id : read_by_scans(program)) keep_dims(id);
    for (const Stage& stage : program.stages) {
      if (stage.kind == ir::StageKind::scan) {
        for (const TensorId id : stage.results) keep_dims(id);
      }
      const size_t count = stage.axes.size() + stage.reduce_axes.size();
      axes_.emplace_back(count == 0 ? 0 : count - 1, true);
      if (!stage.axes.empty() && !stage.reduce_axes.empty()) axes_.back()[stage.axes.size() - 1] = false;
      keep_sizes_apart(stage, axes_.back());
      conditions_.emplace_back();
      for (const AxisCondition& condition : axis_conditions(program, stage))
        conditions_.back().emplace(condition.id, condition);
    }
    do {
      changed_ = false;
      for (size_t s = 0; s < program.stages.size(); ++s) check(s);
    } while (changed_);
  }

  const Pairs& axes(size_t stage) const { return axes_[stage]; }
  /// The comparisons of one axis with what depends on none.
  const std::map<ExprId, AxisCondition>& conditions(size_t stage) const { return conditions_[stage]; }
  const Pairs& dims(TensorId tensor) const { return dims_[static_cast<size_t>(tensor)]; }

  /// The index of each merged dimension of a load; nothing where one is not linear.
  static std::vector<std::optional<ir::Linear>> merged_indices(const Program& program, const Expr& load,
                                                               const Pairs& merged) {
    const Dims& dims = program.tensors[static_cast<size_t>(load.integer)].dims;
    std::vector<std::optional<ir::Linear>> result;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const auto index = ir::linear_form(program, load.indices[d]);
      if (d == 0 || !merged[d - 1]) {
        result.push_back(index);
        continue;
      }
      auto& whole = result.back();
      if (!whole || !index) {
        whole = std::nullopt;
        continue;
      }
      whole = *whole * dims[d];
      *whole += *index;
    }
    return result;
  }

 private:
  /// A merged axis has one size that is not literal at most: nothing is linear in a product of two, and
  /// proofs are about linear indices.
  static void keep_sizes_apart(const Stage& stage, Pairs& pairs) {
    bool has_size = false;
    for (size_t axis = pairs.size() + 1; axis-- > 0 && !pairs.empty();) {
      const bool is_size = !extent_of(stage, axis).is_constant();
      if (axis < pairs.size() && pairs[axis] && is_size && has_size) pairs[axis] = false;
      has_size = axis < pairs.size() && pairs[axis] ? has_size || is_size : is_size;
    }
  }

  /// Scans read and give whole tensors.
  void keep_dims(TensorId id) {
    Pairs& pairs = dims_[static_cast<size_t>(id)];
    pairs.assign(pairs.size(), false);
  }

  void give_up(Pairs& pairs, size_t at) {
    if (!pairs[at]) return;
    pairs[at] = false;
    changed_ = true;
  }

  void check(size_t s) {
    const Stage& stage = program_.stages[s];
    if (stage.kind == ir::StageKind::scan) return;
    check_result(s, stage);
    std::vector<bool> seen(program_.exprs.size(), false);
    check_value(s, stage.body[0], seen);
  }

  void check_result(size_t s, const Stage& stage) {
    Pairs& dims = dims_[static_cast<size_t>(stage.results[0])];
    const bool words = gathered_form(program_, stage, ir::ElementType::i32).has_value();
    const bool lines = words || gathered_form(program_, stage).has_value();
    // Words are gathered line by line, but for those of lines that follow one another.
    if (words && !reads_lines_whole(stage)) give_up(axes_[s], stage.axes.size() - 2);
    for (size_t d = 0; d + 1 < stage.groups.size(); ++d) {
      // Lines that are gathered are one dimension of the result, whether or not they are one axis.
      if (lines && d + 2 == stage.groups.size() && stage.groups[d].size() == 1 &&
          stage.groups[d + 1].size() == 1) {
        if (!dims[d]) give_up(axes_[s], axes_[s].size() - stage.reduce_axes.size() - 1);
        continue;
      }
      if (stage.groups[d].empty() || stage.groups[d + 1].empty()) {
        give_up(dims, d);
        continue;
      }
      const auto last = static_cast<size_t>(stage.groups[d].back());
      if (!axes_[s][last]) give_up(dims, d);
      if (!dims[d]) give_up(axes_[s], last);
    }
  }

  void check_value(size_t s, ExprId id, std::vector<bool>& seen) {
    if (seen[static_cast<size_t>(id)]) return;
    seen[static_cast<size_t>(id)] = true;
    const Expr& expr = program_.exprs[static_cast<size_t>(id)];
    // An outer axis is below a bound where the merged one is below as many times the inner extent.
    if (const auto condition = conditions_[s].find(id); condition != conditions_[s].end()) {
      const auto axis = static_cast<size_t>(condition->second.axis);
      if (axis > 0) give_up(axes_[s], axis - 1);
      // As many times a size that is not known is beyond proofs.
      for (size_t p = axis; p < axes_[s].size(); ++p) {
        if (!extent_of(program_.stages[s], p + 1).is_constant()) give_up(axes_[s], p);
      }
      return;
    }
    if (const auto linear = ir::linear_form(program_, id)) return check_linear(s, *linear);
    if (expr.op == ScalarOp::load) check_load(s, expr, seen);
    for (const ExprId argument : expr.args) {
      if (argument != ir::none) check_value(s, argument, seen);
    }
  }

  void check_linear(size_t s, const ir::Linear& linear) {
    const Stage& stage = program_.stages[s];
    for (size_t p = 0; p < axes_[s].size(); ++p) {
      const int outer = static_cast<int>(p);
      if (linear.coefficient(outer) != linear.coefficient(outer + 1) * extent_of(stage, p + 1)) {
        give_up(axes_[s], p);
      }
    }
  }

  /// Whether a sum of products reads whole lines one after another, along its own last axes: these need not
  /// be one axis for that.
  bool is_all_lines(const Stage& stage, const Expr& load, size_t d, const ir::Linear& outer,
                    const ir::Linear& inner) const {
    const Dims& dims = program_.tensors[static_cast<size_t>(load.integer)].dims;
    const size_t axes = stage.axes.size();
    const auto is = [&](const ir::Linear& index, size_t axis, size_t dimension) {
      return index.single_axis() == static_cast<int>(axis) && stage.axes[axis].extent == dims[dimension];
    };
    return d + 2 == dims.size() && axes >= 3 && is(outer, axes - 2, d) && is(inner, axes - 1, d + 1) &&
           gathered_form(program_, stage).has_value();
  }

  /// Whether what a sum of products reads along its last two axes are all lines there are, in order. Of sums
  /// in groups, where two axes are one dimension of the result, nothing makes products of matrices.
  bool reads_lines_whole(const Stage& stage) const {
    const auto last = static_cast<int>(stage.axes.size()) - 1;
    const bool in_groups = std::any_of(stage.groups.begin(), stage.groups.end(),
                                       [](const std::vector<int>& axes) { return axes.size() > 1; });
    if (stage.reduce_axes.size() != 1 || in_groups) return false;
    for (const ExprId id : loads_of(program_, stage.body[0])) {
      const Expr& load = program_.exprs[static_cast<size_t>(id)];
      const Dims& dims = program_.tensors[static_cast<size_t>(load.integer)].dims;
      const std::set<int> used = axes_of(program_, id);
      if (used.count(last) == 0 && used.count(last - 1) == 0) continue;
      if (dims.size() < 2 || load.args[0] != ir::none) return false;
      for (size_t back : {0, 1}) {
        const auto index = ir::linear_form(program_, load.indices[dims.size() - 1 - back]);
        const auto axis = static_cast<size_t>(last) - back;
        if (!index || index->single_axis() != static_cast<int>(axis) ||
            !(stage.axes[axis].extent == dims[dims.size() - 1 - back]))
          return false;
      }
    }
    return true;
  }

  void check_load(size_t s, const Expr& load, std::vector<bool>& seen) {
    Pairs& dims = dims_[static_cast<size_t>(load.integer)];
    for (size_t d = 0; d + 1 < load.indices.size(); ++d) {
      if (!dims[d]) continue;
      const auto outer = ir::linear_form(program_, load.indices[d]);
      const auto inner = ir::linear_form(program_, load.indices[d + 1]);
      const bool constant = outer && inner && outer->coefficients.empty() && inner->coefficients.empty();
      bool together = outer && inner && !outer->coefficients.empty() && !inner->coefficients.empty();
      if (together) {
        const int last = outer->coefficients.rbegin()->first;
        together = inner->coefficients.begin()->first == last + 1 && axes_[s][static_cast<size_t>(last)];
        together = together || is_all_lines(program_.stages[s], load, d, *outer, *inner);
      }
      if (!constant && !together) give_up(dims, d);
    }
    const auto indices = merged_indices(program_, load, dims);
    size_t at = 0;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      if (d > 0 && dims[d - 1]) continue;
      if (indices[at]) {
        check_linear(s, *indices[at]);
      } else {
        check_value(s, load.indices[d], seen);
      }
      ++at;
    }
  }

  const Program& program_;
  std::vector<Pairs> dims_, axes_;
  std::vector<std::map<ExprId, AxisCondition>> conditions_;  ///< per stage
  bool changed_ = false;
};

class Merger {
 public:
  explicit Merger(const Program& from) : from_(from), choice_(from), builder_(from.name) {}

  Program run() {
    tensors_ = copy_operands(builder_, from_, [&](TensorId id) {
      const Dims& dims = from_.tensors[static_cast<size_t>(id)].dims;
      Dims merged;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (d > 0 && choice_.dims(id)[d - 1]) {
          merged.back() = merged.back() * dims[d];
        } else {
          merged.push_back(dims[d]);
        }
      }
      return merged;
    });
    for (size_t s = 0; s < from_.stages.size(); ++s) {
      const Stage& stage = from_.stages[s];
      if (stage.kind == ir::StageKind::scan) {
        const std::vector<TensorRef> results = copy_scan(builder_, stage, *stage.step, tensors_);
        for (size_t k = 0; k < results.size(); ++k) tensors_[stage.results[k]] = results[k];
      } else {
        tensors_[stage.results[0]] = copy(stage, choice_.axes(s), choice_.conditions(s));
      }
    }
    return finish_rebuilding(builder_, from_, tensors_);
  }

 private:
  TensorRef copy(const Stage& stage, const Pairs& merged, const std::map<ExprId, AxisCondition>& conditions) {
    NewStage now;
    std::vector<int> place;   // the new axis of each old one
    std::vector<bool> inner;  // the last old axis of each new one carries its coefficient
    for (size_t k = 0; k < stage.axes.size() + stage.reduce_axes.size(); ++k) {
      Dims& extents = k < stage.axes.size() ? now.axes : now.reduce_axes;
      const bool joins = k > 0 && merged[k - 1];
      if (joins) {
        extents.back() = extents.back() * extent_of(stage, k);
        inner.back() = false;
      } else {
        extents.push_back(extent_of(stage, k));
      }
      place.push_back(static_cast<int>(now.axes.size() + now.reduce_axes.size()) - 1);
      inner.push_back(true);
    }
    const auto renamed = [&](const ir::Linear& linear) {
      ir::Linear result;
      result.constant = linear.constant;
      for (const auto& [axis, value] : linear.coefficients) {
        const auto at = static_cast<size_t>(axis);
        if (inner[at]) result.coefficients[place[at]] = value;
      }
      return result;
    };
    const auto merged_condition = [&](const AxisCondition& condition, const Indices& point) {
      Dim bound = condition.bound;
      for (auto axis = static_cast<size_t>(condition.axis); axis < merged.size() && merged[axis]; ++axis)
        bound = bound * extent_of(stage, axis + 1);
      const Scalar here = point[static_cast<size_t>(place[static_cast<size_t>(condition.axis)])];
      const Scalar there = ir::to_scalar(builder_, {{}, bound}, point);
      return condition.below ? here < there : here >= there;
    };
    const Pairs& dims = choice_.dims(stage.results[0]);
    for (size_t d = 0; d < stage.groups.size(); ++d) {
      if (d == 0 || !dims[d - 1]) now.groups.emplace_back();
      for (const int axis : stage.groups[d]) {
        if (inner[static_cast<size_t>(axis)]) now.groups.back().push_back(place[static_cast<size_t>(axis)]);
      }
    }
    now.body = [&](const Indices& point) {
      ScalarCopier copier(from_, builder_, [&](ScalarCopier& copy, ExprId id, const Expr& expr) {
        if (const auto found = conditions.find(id); found != conditions.end())
          return merged_condition(found->second, point);
        if (const auto linear = ir::linear_form(from_, id))
          return ir::to_scalar(builder_, renamed(*linear), point);
        if (expr.op != ScalarOp::load) return Scalar();
        const auto tensor = static_cast<TensorId>(expr.integer);
        const Pairs& pairs = choice_.dims(tensor);
        Indices indices;
        const auto merged_indices = Choice::merged_indices(from_, expr, pairs);
        for (size_t d = 0; d < expr.indices.size(); ++d) {
          if (d > 0 && pairs[d - 1]) continue;
          const auto& linear = merged_indices[indices.size()];
          indices.push_back(linear ? ir::to_scalar(builder_, renamed(*linear), point)
                                   : copy(expr.indices[d]));
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
  const Choice choice_;
  ir::Builder builder_;
  std::map<TensorId, TensorRef> tensors_;
};

}  // namespace

Program merge_axes(const Program& program) { return Merger(program).run(); }

}  // namespace axrun::search
