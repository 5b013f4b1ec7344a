#include "search/split_axes.h"

#include <algorithm>
#include <map>

#include "ir/linear.h"
#include "search/epilogue.h"
#include "search/gathered_form.h"
#include "search/piece.h"
#include "search/product_form.h"
#include "search/rebuild.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::ExprId;
using ir::Indices;
using ir::Program;
using ir::Scalar;
using ir::Stage;
using ir::TensorId;
using ir::TensorRef;

namespace {

class Splitter {
 public:
  explicit Splitter(const Program& from) : from_(from), builder_(from.name) {
    for (size_t s = 0; s + 1 < from.stages.size(); ++s) find(s);
  }

  bool changes() const { return !parts_.empty(); }

  Program run() {
    tensors_ = copy_operands(builder_, from_,
                             [&](TensorId id) { return from_.tensors[static_cast<size_t>(id)].dims; });
    for (size_t s = 0; s < from_.stages.size(); ++s) tensors_[from_.stages[s].results[0]] = copy(s);
    return finish_rebuilding(builder_, from_, tensors_);
  }

 private:
  /// What the axes of a map become: of the sum before it, those of one dimension, in order.
  using Parts = std::vector<std::vector<int>>;

  void find(size_t s) {
    const Stage& sum = from_.stages[s];
    const Stage& map = from_.stages[s + 1];
    const bool merged =
        std::any_of(sum.groups.begin(), sum.groups.end(), [](const auto& group) { return group.size() > 1; });
    if (!merged || map.kind != ir::StageKind::map || is_read_outside(from_, sum.results[0], {s, 2})) return;
    const std::vector<bool> unknown(from_.tensors.size(), false);
    if (gathered_form(from_, sum) || !find_product(from_, sum, nullptr, unknown).found) return;
    const MatchedEpilogue matched = match_dimensions(from_, sum, map);
    if (!matched.reason.empty()) return;
    Parts parts;
    for (const int dimension : matched.axes)
      parts.push_back(dimension == -1 ? std::vector<int>() : sum.groups[static_cast<size_t>(dimension)]);
    parts_[s + 1] = std::move(parts);
  }

  TensorRef copy(size_t s) {
    const Stage& stage = from_.stages[s];
    const auto found = parts_.find(s);
    const Stage* sum = found == parts_.end() ? nullptr : &from_.stages[s - 1];
    NewStage now;
    for (const ir::Axis& axis : stage.reduce_axes) now.reduce_axes.push_back(axis.extent);
    std::vector<std::vector<int>> place;  // the new axes of each old one
    for (size_t k = 0; k < stage.axes.size(); ++k) {
      place.emplace_back();
      const bool whole = sum == nullptr || found->second[k].empty();
      const size_t count = whole ? 1 : found->second[k].size();
      for (size_t part = 0; part < count; ++part) {
        place.back().push_back(static_cast<int>(now.axes.size()));
        now.axes.push_back(whole ? stage.axes[k].extent
                                 : sum->axes[static_cast<size_t>(found->second[k][part])].extent);
      }
    }
    for (const std::vector<int>& group : stage.groups) {
      now.groups.emplace_back();
      for (const int axis : group) {
        const std::vector<int>& parts = place[static_cast<size_t>(axis)];
        now.groups.back().insert(now.groups.back().end(), parts.begin(), parts.end());
      }
    }
    if (parts_.count(s + 1) != 0) {
      now.groups.clear();
      for (int axis = 0; axis < static_cast<int>(stage.axes.size()); ++axis) now.groups.push_back({axis});
    }
    now.body = [&](const Indices& point) {
      ScalarCopier copier(from_, builder_, [&](ScalarCopier& copy, ExprId, const Expr& expr) {
        if (expr.op == ir::ScalarOp::axis) return position(expr.integer, stage, place, now.axes, point);
        if (expr.op != ir::ScalarOp::load) return Scalar();
        const auto tensor = static_cast<TensorId>(expr.integer);
        Indices indices;
        if (sum != nullptr && tensor == sum->results[0]) {
          indices = point_of(*sum, found->second, place, point);
        } else {
          for (const ExprId index : expr.indices) indices.push_back(copy(index));
        }
        const TensorRef& source = tensors_.at(tensor);
        if (expr.args[0] == ir::none) return source(indices);
        return source.guarded(indices, copy(expr.args[0]), copy(expr.args[1]));
      });
      return copier(stage.body[0]);
    };
    return rebuild_stage(builder_, from_, stage, now);
  }

  /// The old axis at a new point.
  Scalar position(int64_t axis, const Stage& stage, const std::vector<std::vector<int>>& place,
                  const Dims& extents, const Indices& point) {
    const auto k = static_cast<size_t>(axis);
    if (k >= stage.axes.size()) return point[extents.size() + k - stage.axes.size()];
    Scalar sum;
    for (const int part : place[k]) {
      const auto at = static_cast<size_t>(part);
      sum = sum.defined() ? sum * builder_.extent(extents[at]) + point[at] : point[at];
    }
    return sum;
  }

  /// The sum's axes at the map's new point.
  Indices point_of(const Stage& sum, const Parts& parts, const std::vector<std::vector<int>>& place,
                   const Indices& point) {
    Indices indices(sum.axes.size(), builder_.integer(0));
    for (size_t k = 0; k < parts.size(); ++k) {
      for (size_t part = 0; part < parts[k].size(); ++part)
        indices[static_cast<size_t>(parts[k][part])] = point[static_cast<size_t>(place[k][part])];
    }
    return indices;
  }

  const Program& from_;
  ir::Builder builder_;
  std::map<size_t, Parts> parts_;  ///< of maps, by their stage
  std::map<TensorId, TensorRef> tensors_;
};

}  // namespace

Program split_axes(const Program& program) {
  Splitter splitter(program);
  return splitter.changes() ? splitter.run() : program;
}

}  // namespace axrun::search
