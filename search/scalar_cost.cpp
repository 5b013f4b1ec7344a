#include "search/scalar_cost.h"

#include "ir/grammar.h"
#include "ir/linear.h"

namespace axrun::search {

using ir::Expr;
using ir::ScalarOp;

namespace {

constexpr double slow = 8;             // division, square root
constexpr double transcendental = 20;  // a polynomial

double cost_of(const Expr& expr) {
  switch (expr.op) {
    case ScalarOp::real:
    case ScalarOp::integer:
    case ScalarOp::extent:
    case ScalarOp::axis:
    case ScalarOp::time:
    case ScalarOp::parameter:
    case ScalarOp::load:
      return 0;
    case ScalarOp::div:
    case ScalarOp::sqrt:
    case ScalarOp::remainder:
    case ScalarOp::floor_div:
    case ScalarOp::floor_mod:
      return slow;
    case ScalarOp::pow:
    case ScalarOp::atan2:
      return transcendental;
    default:
      return expr.op >= ScalarOp::exp && expr.op <= ScalarOp::erf ? transcendental : 1;
  }
}

}  // namespace

double scalar_cost(const ir::Program& program, ir::ExprId id) {
  double cost = 0;
  for (const ir::ExprId reached : ir::reachable(program, {id})) {
    if (!ir::linear_form(program, reached)) cost += cost_of(program.exprs[static_cast<size_t>(reached)]);
  }
  return cost;
}

}  // namespace axrun::search
