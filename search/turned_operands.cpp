#include "search/turned_operands.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ir/linear.h"
#include "search/epilogue.h"
#include "search/piece.h"
#include "search/rebuild.h"
#include "search/stage_values.h"
#include "search/windows_form.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::Expr;
using ir::Indices;
using ir::Program;
using ir::Scalar;
using ir::Stage;
using ir::StageKind;
using ir::TensorId;
using ir::TensorRef;

namespace {

/// The dimension of each operand that becomes its last one.
using Turns = std::map<TensorId, size_t>;

/// The map after a stage, if nothing else reads the stage's result.
const Stage* epilogue_of(const Program& program, size_t s) {
  const bool followed = s + 1 < program.stages.size() && program.stages[s + 1].kind == StageKind::map &&
                        !is_read_outside(program, program.stages[s].results[0], {s, 2});
  return followed ? &program.stages[s + 1] : nullptr;
}

bool is_windows(const Program& program, size_t s) {
  const Stage* epilogue = epilogue_of(program, s);
  return (epilogue != nullptr && find_windows(program, program.stages[s], epilogue).found) ||
         find_windows(program, program.stages[s], nullptr).found;
}

/// What there is to turn for a reduction; empty where nothing is, or where an operand is read in several
/// ways.
Turns turns_of(const Program& program, size_t s) {
  const Stage& stage = program.stages[s];
  if (stage.kind != StageKind::reduce || stage.monoid.kind == ir::Monoid::Kind::tuple) return {};
  const Stage* epilogue = epilogue_of(program, s);
  MatchedEpilogue matched;
  if (epilogue != nullptr) {
    matched = match_epilogue(program, stage, *epilogue);
    if (!matched.reason.empty()) epilogue = nullptr;
  }
  const std::vector<int> order = axes_in_memory_order(stage, epilogue, matched.axes);
  if (order.empty()) return {};
  Turns turns;
  for (const ir::ExprId id : loads_of(program, stage.body[0])) {
    const Expr& load = expr_of(program, id);
    std::optional<size_t> along;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const auto linear = ir::linear_form(program, load.indices[d]);
      if (!linear || (along && linear->coefficient(order.back()) != Dim(0))) return {};
      if (linear->coefficient(order.back()) != Dim(0)) along = d;
    }
    if (!along) continue;
    const auto [turn, added] = turns.emplace(static_cast<TensorId>(load.integer), *along);
    if (!added && turn->second != *along) return {};
  }
  for (auto turn = turns.begin(); turn != turns.end();) {
    const bool last = turn->second + 1 == program.tensors[static_cast<size_t>(turn->first)].dims.size();
    turn = last ? turns.erase(turn) : std::next(turn);
  }
  return turns;
}

class Turner {
 public:
  Turner(const Program& from, size_t stage, const Turns& turns)
      : from_(from), stage_(stage), turns_(turns), builder_(from.name) {}

  Program run() {
    tensors_ = copy_operands(builder_, from_,
                             [&](TensorId id) { return from_.tensors[static_cast<size_t>(id)].dims; });
    for (size_t s = 0; s < from_.stages.size(); ++s) {
      const Stage& stage = from_.stages[s];
      if (stage.kind == StageKind::scan) {
        const auto results = copy_scan(builder_, stage, *stage.step, tensors_);
        for (size_t k = 0; k < results.size(); ++k) tensors_[stage.results[k]] = results[k];
      } else {
        tensors_[stage.results[0]] =
            s == stage_ ? reduction(stage) : copy_stage(builder_, from_, stage, tensors_);
      }
    }
    return finish_rebuilding(builder_, from_, tensors_);
  }

 private:
  /// In the order of the copy.
  template <class List>
  static List turned(List list, size_t last) {
    std::rotate(list.begin() + static_cast<std::ptrdiff_t>(last),
                list.begin() + static_cast<std::ptrdiff_t>(last) + 1, list.end());
    return list;
  }

  TensorRef copy_of(TensorId id, size_t last) {
    const ir::TensorDecl& tensor = from_.tensors[static_cast<size_t>(id)];
    return builder_.map(
        turned(tensor.dims, last),
        [&](const Indices& point) {
          Indices source = point;
          std::rotate(source.begin() + static_cast<std::ptrdiff_t>(last), source.end() - 1, source.end());
          return tensors_.at(id)(source);
        },
        "turned_" + tensor.name);
  }

  TensorRef reduction(const Stage& stage) {
    std::map<TensorId, TensorRef> copies;
    for (const auto& [id, last] : turns_) copies.emplace(id, copy_of(id, last));
    NewStage same;
    for (const ir::Axis& axis : stage.axes) same.axes.push_back(axis.extent);
    for (const ir::Axis& axis : stage.reduce_axes) same.reduce_axes.push_back(axis.extent);
    same.groups = stage.groups;
    same.body = [&](const Indices& point) {
      ScalarCopier copier(from_, builder_, [&](ScalarCopier& copy, ir::ExprId, const Expr& expr) {
        if (expr.op == ir::ScalarOp::axis) return point[static_cast<size_t>(expr.integer)];
        if (expr.op != ir::ScalarOp::load) return Scalar();
        const auto id = static_cast<TensorId>(expr.integer);
        Indices indices;
        for (const ir::ExprId index : expr.indices) indices.push_back(copy(index));
        const auto turn = turns_.find(id);
        if (turn != turns_.end()) indices = turned(indices, turn->second);
        const TensorRef& source = turn == turns_.end() ? tensors_.at(id) : copies.at(id);
        if (expr.args[0] == ir::none) return source(indices);
        return source.guarded(indices, copy(expr.args[0]), copy(expr.args[1]));
      });
      return copier(stage.body[0]);
    };
    return rebuild_stage(builder_, from_, stage, same);
  }

  const Program& from_;
  const size_t stage_;
  const Turns& turns_;
  ir::Builder builder_;
  std::map<TensorId, TensorRef> tensors_;
};

}  // namespace

Program turn_operands(const Program& program) {
  Program result = program;
  for (size_t s = 0; s < result.stages.size(); ++s) {
    if (result.stages[s].kind != StageKind::reduce || is_windows(result, s)) continue;
    const Turns turns = turns_of(result, s);
    if (turns.empty()) continue;
    Program turned = Turner(result, s, turns).run();
    const size_t there = s + turns.size();
    if (there >= turned.stages.size() || !is_windows(turned, there)) continue;
    result = std::move(turned);
    s = there;
  }
  return result;
}

}  // namespace axrun::search
