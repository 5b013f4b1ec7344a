#include "search/matrices_of_lines.h"

#include <algorithm>
#include <map>

#include "search/gathered_across.h"
#include "search/gathered_form.h"
#include "search/linear.h"
#include "search/merge_axes.h"
#include "search/pixels_form.h"
#include "search/rebuild.h"
#include "search/register_tile.h"
#include "search/split_axes.h"
#include "search/turned_product.h"

namespace axrun::search {

using ir::Dim;
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

class Divider {
 public:
  Divider(const Program& from, const SizeFacts& facts, const std::vector<bool>& constant,
          const jit::Target& target)
      : from_(from), facts_(facts), target_(target), builder_(from.name) {
    for (size_t s = 0; s < from.stages.size(); ++s) {
      const FoundGathered found = find_gathered(from, from.stages[s], nullptr, constant);
      if (found.found && !are_pixels(s, constant) && is_better_turned(found.form))
        forms_.emplace(s, found.form);
    }
  }

  bool changes() const { return !forms_.empty(); }

  Program run() {
    tensors_ = copy_operands(builder_, from_,
                             [&](TensorId id) { return from_.tensors[static_cast<size_t>(id)].dims; });
    for (size_t s = 0; s < from_.stages.size(); ++s) {
      const Stage& stage = from_.stages[s];
      const auto form = forms_.find(s);
      if (stage.kind == ir::StageKind::scan) {
        const auto results = copy_scan(builder_, stage, *stage.step, tensors_);
        for (size_t k = 0; k < results.size(); ++k) tensors_[stage.results[k]] = results[k];
      } else if (form == forms_.end()) {
        tensors_[stage.results[0]] = copy_stage(builder_, from_, stage, tensors_);
      } else {
        tensors_[stage.results[0]] = product(stage, form->second, matrix(stage, form->second));
      }
    }
    return finish_rebuilding(builder_, from_, tensors_);
  }

 private:
  /// Those are computed in another way (find_pixels).
  bool are_pixels(size_t s, const std::vector<bool>& constant) const {
    const bool followed = s + 1 < from_.stages.size() && from_.stages[s + 1].kind == ir::StageKind::map;
    return (followed && find_pixels(from_, from_.stages[s], &from_.stages[s + 1], constant)) ||
           find_pixels(from_, from_.stages[s], nullptr, constant);
  }

  /// Estimates of cycles; what is gathered for single lines fills fewer lanes, and is multiplied less evenly.
  bool is_better_turned(const GatheredForm& form) const {
    constexpr double uneven = 1.15, worth = 0.95;
    constexpr double line_cycles = 6, vector_cycles = 2.5;  // of the map
    constexpr int64_t most_caches = 4;                      // the matrix, of the second one
    const Stage& sum = *form.sum;
    if (!form.left_constant) return false;
    const auto extent = [&](int axis) { return sum.axes[static_cast<size_t>(axis)].extent.constant(); };
    const auto lines = extent(form.line), width = extent(form.place), rows = extent(form.row);
    if (!lines || !width || !rows) return false;
    const int64_t lanes = target_.lanes(4);
    ProductShape shape{*rows, *lines * *width};
    for (const ir::Axis& axis : sum.reduce_axes) shape.depth *= axis.extent.value();
    const int64_t second = target_.caches.size() > 1 ? target_.caches[1].bytes : int64_t{256} << 10;
    if (*rows < lanes || shape.columns < 2 || shape.depth * shape.columns * 4 > most_caches * second)
      return false;
    const auto vectors_of = [&](int64_t count) { return static_cast<double>((count + lanes - 1) / lanes); };
    const double gathered =
        register_tile(shape.rows, shape.columns, target_, true).cycles * static_cast<double>(shape.depth);
    const double map =
        static_cast<double>(shape.depth * *lines) * (line_cycles + vector_cycles * vectors_of(*width));
    const double turned = cycles_turned(shape, target_) + map;
    if (turned >= worth * uneven * gathered) return false;
    const auto across = plans_across(target_, facts_, form, false);
    return std::all_of(across.begin(), across.end(),
                       [&](const PlannedGathered& planned) { return planned.cycles >= turned; });
  }

  /// [outer..., terms, positions].
  TensorRef matrix(const Stage& sum, const GatheredForm& form) {
    ir::Dims axes;
    std::vector<std::vector<int>> groups;
    std::map<int64_t, size_t> place;  // of the sum's axes among those of the matrix
    const auto add = [&](int64_t axis, const Dim& extent, bool joins) {
      place[axis] = axes.size();
      if (!joins) groups.emplace_back();
      groups.back().push_back(static_cast<int>(axes.size()));
      axes.push_back(extent);
    };
    for (const int axis : form.outer) add(axis, sum.axes[static_cast<size_t>(axis)].extent, false);
    for (size_t k = 0; k < sum.reduce_axes.size(); ++k)
      add(static_cast<int64_t>(sum.axes.size() + k), sum.reduce_axes[k].extent, k != 0);
    add(form.line, sum.axes[static_cast<size_t>(form.line)].extent, false);
    add(form.place, sum.axes[static_cast<size_t>(form.place)].extent, true);
    return builder_.map_grouped(
        axes, groups,
        [&](const Indices& point) {
          Indices there(sum.axes.size() + sum.reduce_axes.size(), builder_.integer(0));
          for (const auto& [axis, at] : place) there[static_cast<size_t>(axis)] = point[at];
          return value(form.right, there);
        },
        "lines_of_" + from_.tensors[static_cast<size_t>(sum.results[0])].name);
  }

  TensorRef product(const Stage& sum, const GatheredForm& form, const TensorRef& lines) {
    NewStage now;
    for (int axis = 0; axis < form.line; ++axis)
      now.axes.push_back(sum.axes[static_cast<size_t>(axis)].extent);
    const Dim width = sum.axes[static_cast<size_t>(form.place)].extent;
    now.axes.push_back(sum.axes[static_cast<size_t>(form.line)].extent * width);
    now.groups = sum.groups;
    now.groups.back() = {form.line};
    for (const ir::Axis& axis : sum.reduce_axes) now.reduce_axes.push_back(axis.extent);
    now.body = [&](const Indices& point) {
      const auto first_term = static_cast<size_t>(form.line) + 1;
      Indices there(point.begin(), point.begin() + form.line), index;
      there.resize(sum.axes.size(), builder_.integer(0));
      there.insert(there.end(), point.begin() + static_cast<std::ptrdiff_t>(first_term), point.end());
      for (const int axis : form.outer) index.push_back(point[static_cast<size_t>(axis)]);
      Scalar term = point[first_term];
      for (size_t k = 1; k < sum.reduce_axes.size(); ++k)
        term = term * builder_.extent(sum.reduce_axes[k].extent) + point[first_term + k];
      index.push_back(term);
      index.push_back(point[static_cast<size_t>(form.line)]);
      return value(form.left, there) * lines(index);
    };
    return rebuild_stage(builder_, from_, sum, now);
  }

  /// A product of expressions of the sum where its axes have the values `point`.
  Scalar value(const std::vector<ExprId>& factors, const Indices& point) {
    ScalarCopier copier(from_, builder_, [&](ScalarCopier& copy, ExprId, const Expr& expr) {
      if (expr.op == ScalarOp::axis) return point[static_cast<size_t>(expr.integer)];
      if (expr.op != ScalarOp::load) return Scalar();
      Indices indices;
      for (const ExprId index : expr.indices) indices.push_back(copy(index));
      const TensorRef& source = tensors_.at(static_cast<TensorId>(expr.integer));
      if (expr.args[0] == ir::none) return source(indices);
      return source.guarded(indices, copy(expr.args[0]), copy(expr.args[1]));
    });
    Scalar result = copier(factors[0]);
    for (size_t k = 1; k < factors.size(); ++k) result = result * copier(factors[k]);
    return result;
  }

  const Program& from_;
  const SizeFacts& facts_;
  const jit::Target& target_;
  ir::Builder builder_;
  std::map<size_t, GatheredForm> forms_;  ///< by their stage
  std::map<TensorId, TensorRef> tensors_;
};

}  // namespace

Program matrices_of_lines(const Program& program, const SizeFacts& facts, const std::vector<bool>& constant,
                          const jit::Target& target) {
  Divider divider(program, facts, constant, target);
  return divider.changes() ? split_axes(merge_axes(divider.run())) : program;
}

}  // namespace axrun::search
