#include "search/ordered_results.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "ir/linear.h"
#include "search/epilogue.h"
#include "search/merge_axes.h"
#include "search/piece.h"
#include "search/rebuild.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::Indices;
using ir::Program;
using ir::Scalar;
using ir::Stage;
using ir::StageKind;
using ir::TensorId;
using ir::TensorRef;

namespace {

/// The old dimension that each new one is.
using Order = std::vector<size_t>;

bool is_identity(const Order& order) { return std::is_sorted(order.begin(), order.end()); }

/// Whether an index moves with an axis and a reduce axis.
bool is_windowed(const Program& program, const Stage& stage, ir::ExprId index) {
  const int axes = static_cast<int>(stage.axes.size());
  const auto linear = ir::linear_form(program, index);
  return linear && linear->coefficients.size() >= 2 && linear->coefficients.begin()->first < axes &&
         linear->coefficients.rbegin()->first >= axes;
}

bool has_windows(const Program& program, const Stage& stage) {
  for (const ir::ExprId id : loads_of(program, stage.body[0])) {
    for (const ir::ExprId index : expr_of(program, id).indices) {
      if (is_windowed(program, stage, index)) return true;
    }
  }
  return false;
}

/// The axes of a reduction in the order of memory, if that is not their own order.
std::vector<int> turned_axes(const Program& program, size_t s) {
  const Stage& stage = program.stages[s];
  if (s + 1 >= program.stages.size() || program.stages[s + 1].kind != StageKind::map ||
      is_read_outside(program, stage.results[0], {s, 2}))
    return {};
  const MatchedEpilogue matched = match_dimensions(program, stage, program.stages[s + 1]);
  if (!matched.reason.empty()) return {};
  std::vector<int> order;
  for (const int dimension : matched.axes) {
    if (dimension == -1) continue;
    const std::vector<int>& group = stage.groups[static_cast<size_t>(dimension)];
    order.insert(order.end(), group.begin(), group.end());
  }
  return std::is_sorted(order.begin(), order.end()) ? std::vector<int>() : order;
}

/// Whether windows read an operand against the order of their result: it would have to be copied.
bool reads_across(const Program& program) {
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const Stage& stage = program.stages[s];
    if (stage.kind != StageKind::reduce) continue;
    const std::vector<int> axes = turned_axes(program, s);
    if (axes.empty()) continue;
    for (const ir::ExprId id : loads_of(program, stage.body[0])) {
      const Expr& load = expr_of(program, id);
      const bool moves = std::any_of(load.indices.begin(), load.indices.end(),
                                     [&](ir::ExprId index) { return is_windowed(program, stage, index); });
      const auto along = [&](ir::ExprId index) {
        const auto linear = ir::linear_form(program, index);
        return linear && linear->coefficient(axes.back()) != Dim(0);
      };
      if (moves && !along(load.indices.back()) &&
          std::any_of(load.indices.begin(), load.indices.end(), along))
        return true;
    }
  }
  return false;
}

/// How the dims of a tensor follow the axes of the stage that reads it.
std::optional<Order> order_for(const Program& program, const Stage& stage, const std::vector<int>& axes,
                               TensorId tensor) {
  std::optional<Order> found;
  for (const ir::ExprId id : loads_of(program, stage.body[0])) {
    const Expr& load = expr_of(program, id);
    if (static_cast<TensorId>(load.integer) != tensor) continue;
    std::vector<size_t> place;
    for (const ir::ExprId index : load.indices) {
      const auto linear = ir::linear_form(program, index);
      if (!linear) return std::nullopt;
      size_t last = 0;
      bool of_result = false;
      for (size_t k = 0; k < axes.size(); ++k) {
        if (linear->coefficient(axes[k]) == Dim(0)) continue;
        last = k;
        of_result = true;
      }
      place.push_back(of_result ? last : axes.size());
    }
    Order order(load.indices.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return place[a] < place[b]; });
    if (found && *found != order) return std::nullopt;
    found = order;
  }
  return found;
}

class Orderer {
 public:
  Orderer(const Program& from, std::map<TensorId, Order> orders)
      : from_(from), orders_(std::move(orders)), builder_(from.name) {}

  Program run() {
    tensors_ = copy_operands(builder_, from_,
                             [&](TensorId id) { return from_.tensors[static_cast<size_t>(id)].dims; });
    for (const Stage& stage : from_.stages) tensors_[stage.results[0]] = copy(stage);
    return finish_rebuilding(builder_, from_, tensors_);
  }

 private:
  template <class List>
  static List ordered(const List& list, const Order& order) {
    List result;
    for (const size_t k : order) result.push_back(list[k]);
    return result;
  }

  TensorRef copy(const Stage& stage) {
    NewStage now;
    const auto result = orders_.find(stage.results[0]);
    std::vector<int> place(stage.axes.size());  // of the old axes among the new ones
    std::iota(place.begin(), place.end(), 0);
    now.groups = stage.groups;
    if (result != orders_.end()) {
      now.groups = ordered(stage.groups, result->second);
      int next = 0;
      for (std::vector<int>& group : now.groups) {
        for (int& axis : group) {
          place[static_cast<size_t>(axis)] = next;
          axis = next++;
        }
      }
    }
    now.axes.resize(stage.axes.size());
    for (size_t k = 0; k < stage.axes.size(); ++k)
      now.axes[static_cast<size_t>(place[k])] = stage.axes[k].extent;
    for (const ir::Axis& axis : stage.reduce_axes) now.reduce_axes.push_back(axis.extent);
    now.body = [&](const Indices& point) {
      ScalarCopier copier(from_, builder_, [&](ScalarCopier& copy, ir::ExprId, const Expr& expr) {
        if (expr.op == ir::ScalarOp::axis) {
          const auto axis = static_cast<size_t>(expr.integer);
          return point[axis < place.size() ? static_cast<size_t>(place[axis]) : axis];
        }
        if (expr.op != ir::ScalarOp::load) return Scalar();
        const auto id = static_cast<TensorId>(expr.integer);
        Indices indices;
        for (const ir::ExprId index : expr.indices) indices.push_back(copy(index));
        const auto order = orders_.find(id);
        if (order != orders_.end()) indices = ordered(indices, order->second);
        if (expr.args[0] == ir::none) return tensors_.at(id)(indices);
        return tensors_.at(id).guarded(indices, copy(expr.args[0]), copy(expr.args[1]));
      });
      return copier(stage.body[0]);
    };
    return rebuild_stage(builder_, from_, stage, now);
  }

  const Program& from_;
  const std::map<TensorId, Order> orders_;
  ir::Builder builder_;
  std::map<TensorId, TensorRef> tensors_;
};

/// Results of earlier stages that are read in another order by one that is `turned`.
std::map<TensorId, Order> orders_of(const Program& program, size_t s) {
  std::map<TensorId, Order> orders;
  const Stage& stage = program.stages[s];
  const std::vector<int> axes = turned_axes(program, s);
  for (size_t earlier = 0; !axes.empty() && earlier < s; ++earlier) {
    const TensorId tensor = program.stages[earlier].results[0];
    const auto order = order_for(program, stage, axes, tensor);
    if (order && !is_identity(*order) && !is_read_outside(program, tensor, {s, 1})) orders[tensor] = *order;
  }
  return orders;
}

}  // namespace

Program order_results(const Program& program) {
  const auto is = [&](StageKind kind) { return [kind](const Stage& stage) { return stage.kind == kind; }; };
  const std::vector<Stage>& stages = program.stages;
  const auto windows = [&](const Stage& stage) {
    return stage.kind == StageKind::reduce && has_windows(program, stage);
  };
  if (std::count_if(stages.begin(), stages.end(), is(StageKind::reduce)) < 2 ||
      std::any_of(stages.begin(), stages.end(), is(StageKind::scan)) ||
      std::none_of(stages.begin(), stages.end(), windows))
    return program;
  Program result = program;
  bool changes = false;
  for (size_t s = result.stages.size(); s-- > 0;) {
    if (result.stages[s].kind != StageKind::reduce) continue;
    std::map<TensorId, Order> orders = orders_of(result, s);
    if (orders.empty()) continue;
    result = Orderer(result, std::move(orders)).run();
    changes = true;
  }
  return changes && !reads_across(result) ? merge_axes(result) : program;
}

}  // namespace axrun::search
