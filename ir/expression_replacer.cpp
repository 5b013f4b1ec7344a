#include "ir/expression_replacer.h"

#include <memory>
#include <utility>
#include <vector>

namespace axrun::ir {

ExpressionReplacer::ExpressionReplacer(const Program& from) : from_(from), result_(from) {
  result_.exprs.clear();
}

ExprId ExpressionReplacer::append(const Expr& expr) {
  result_.exprs.push_back(expr);
  return static_cast<ExprId>(result_.exprs.size()) - 1;
}

Program ExpressionReplacer::run() {
  std::vector<ExprId> place;
  for (Expr expr : from_.exprs) {
    for (ExprId& argument : expr.args) {
      if (argument != none) argument = place[static_cast<size_t>(argument)];
    }
    for (ExprId& index : expr.indices) index = place[static_cast<size_t>(index)];
    place.push_back(replaced(expr));
  }
  for (Stage& stage : result_.stages) {
    for (auto* list : {&stage.body, &stage.target, &stage.monoid.identity, &stage.monoid.combine}) {
      for (ExprId& id : *list) id = place[static_cast<size_t>(id)];
    }
    if (stage.guard != none) stage.guard = place[static_cast<size_t>(stage.guard)];
    if (stage.step) stage.step = std::make_shared<const Program>(in_step(*stage.step));
  }
  return std::move(result_);
}

}  // namespace axrun::ir
