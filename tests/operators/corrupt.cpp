#include "tests/operators/corrupt.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "ir/grammar.h"
#include "ir/ops/tree_ensemble.h"

namespace axrun::runtime {
namespace {

using ir::Expr;
using ir::ScalarOp;

/// Another operation of the same arguments and type.
std::optional<ScalarOp> neighbour(ScalarOp op) {
  switch (op) {
    case ScalarOp::add:
      return ScalarOp::sub;
    case ScalarOp::sub:
      return ScalarOp::add;
    case ScalarOp::mul:
      return ScalarOp::add;
    case ScalarOp::div:
      return ScalarOp::mul;
    case ScalarOp::min:
      return ScalarOp::max;
    case ScalarOp::max:
      return ScalarOp::min;
    case ScalarOp::less:
      return ScalarOp::greater;
    case ScalarOp::greater:
      return ScalarOp::less;
    case ScalarOp::less_equal:
      return ScalarOp::greater_equal;
    case ScalarOp::greater_equal:
      return ScalarOp::less_equal;
    case ScalarOp::equal:
      return ScalarOp::not_equal;
    case ScalarOp::not_equal:
      return ScalarOp::equal;
    case ScalarOp::exp:
      return ScalarOp::sin;
    case ScalarOp::tanh:
      return ScalarOp::sin;
    case ScalarOp::erf:
      return ScalarOp::tanh;
    case ScalarOp::sqrt:
      return ScalarOp::abs;
    case ScalarOp::log:
      return ScalarOp::cos;
    case ScalarOp::abs:
      return ScalarOp::neg;
    case ScalarOp::neg:
      return ScalarOp::abs;
    case ScalarOp::sin:
      return ScalarOp::cos;
    case ScalarOp::cos:
      return ScalarOp::sin;
    case ScalarOp::floor:
      return ScalarOp::ceil;
    case ScalarOp::ceil:
      return ScalarOp::floor;
    case ScalarOp::round_even:
      return ScalarOp::floor;
    case ScalarOp::logical_and:
      return ScalarOp::logical_or;
    case ScalarOp::logical_or:
      return ScalarOp::logical_and;
    case ScalarOp::cast_saturate:
      return ScalarOp::cast;
    default:
      return std::nullopt;
  }
}

/// Where a corruption takes place: an expression or a stage of the program, or of the step of one of its
/// scans.
struct Place {
  int scan = -1;  ///< number of the scan stage; -1: the program itself
  bool is_stage = false;
  size_t at = 0;
};

/// Whether each expression is part of what a stage computes: an index that no body names is not.
std::vector<bool> in_use(const ir::Program& program) {
  std::vector<ir::ExprId> roots;
  for (const ir::Stage& stage : program.stages)
    for (const auto* some : {&stage.body, &stage.target, &stage.monoid.identity, &stage.monoid.combine})
      roots.insert(roots.end(), some->begin(), some->end());
  for (const ir::Stage& stage : program.stages)
    if (stage.guard != ir::none) roots.push_back(stage.guard);
  std::vector<bool> used(program.exprs.size());
  for (const ir::ExprId id : ir::reachable(program, roots)) used[static_cast<size_t>(id)] = true;
  return used;
}

void places_of(const ir::Program& program, int scan, std::vector<Place>& places) {
  const std::vector<bool> used = in_use(program);
  for (size_t k = 0; k < program.exprs.size(); ++k) {
    if (!used[k]) continue;
    const Expr& expr = program.exprs[k];
    const bool literal = expr.op == ScalarOp::real || expr.op == ScalarOp::integer;
    if (literal || expr.op == ScalarOp::axis || neighbour(expr.op)) places.push_back({scan, false, k});
  }
  for (size_t k = 0; k < program.stages.size(); ++k) {
    const ir::Stage& stage = program.stages[k];
    const bool sums = stage.kind == ir::StageKind::reduce && stage.monoid.kind != ir::Monoid::Kind::tuple;
    const bool scatters = stage.kind == ir::StageKind::scatter;
    if (sums || scatters || stage.function == "tree_ensemble") places.push_back({scan, true, k});
  }
}

std::string corrupt_expr(Expr& expr) {
  switch (expr.op) {
    case ScalarOp::real:
      expr.real += 1;
      return fmt::format("a real becomes {}", expr.real);
    case ScalarOp::integer:
      if (expr.type == ir::ElementType::boolean) {
        expr.integer = 1 - expr.integer;
      } else {
        expr.integer += expr.integer == std::numeric_limits<int64_t>::max() ? -1 : 1;
      }
      return fmt::format("an integer becomes {}", expr.integer);
    case ScalarOp::axis:
      expr.op = ScalarOp::integer;
      expr.integer = 0;
      return "an axis is frozen";
    default: {
      const auto from = static_cast<int>(expr.op);
      expr.op = *neighbour(expr.op);
      return fmt::format("operation {} becomes {}", from, static_cast<int>(expr.op));
    }
  }
}

std::string corrupt_stage(ir::Stage& stage) {
  if (stage.kind == ir::StageKind::reduce) {
    using Kind = ir::Monoid::Kind;
    stage.monoid.kind = stage.monoid.kind == Kind::sum   ? Kind::max
                        : stage.monoid.kind == Kind::max ? Kind::min
                                                         : Kind::sum;
    return "another reduction";
  }
  if (stage.kind == ir::StageKind::scatter) {
    using Combine = ir::ScatterCombine;
    stage.combine = stage.combine == Combine::assign ? Combine::add : Combine::assign;
    return "another way to combine updates";
  }
  const auto& given = *static_cast<const ir::TreeEnsemble*>(stage.payload.get());
  auto changed = std::make_shared<ir::TreeEnsemble>(given);
  for (auto& vote : changed->votes) vote.weight = 2 * vote.weight + 1;
  stage.payload = changed;
  return "other votes";
}

}  // namespace

std::vector<Corruption> corruptions(const ir::Program& program, Random& random, size_t most) {
  std::vector<Place> places;
  places_of(program, -1, places);
  for (size_t k = 0; k < program.stages.size(); ++k) {
    if (program.stages[k].step) places_of(*program.stages[k].step, static_cast<int>(k), places);
  }
  std::vector<Corruption> result;
  for (int64_t number : random.permutation(static_cast<int64_t>(places.size()))) {
    if (result.size() == most) break;
    const Place& place = places[static_cast<size_t>(number)];
    Corruption corruption{{}, program};
    std::shared_ptr<ir::Program> step;
    if (place.scan >= 0)
      step = std::make_shared<ir::Program>(*program.stages[static_cast<size_t>(place.scan)].step);
    ir::Program& changed = step ? *step : corruption.program;
    corruption.what =
        place.is_stage ? corrupt_stage(changed.stages[place.at]) : corrupt_expr(changed.exprs[place.at]);
    if (step) corruption.program.stages[static_cast<size_t>(place.scan)].step = step;
    result.push_back(std::move(corruption));
  }
  return result;
}

}  // namespace axrun::runtime
