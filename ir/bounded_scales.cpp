#include "ir/bounded_scales.h"

#include <set>

#include "ir/compose.h"
#include "ir/expression_replacer.h"
#include "ir/types.h"

namespace axrun::ir {
namespace {

class ScaleReplacer final : public ExpressionReplacer {
 public:
  ScaleReplacer(const Program& program, std::set<TensorId> scales)
      : ExpressionReplacer(program), scales_(std::move(scales)) {}

 private:
  Program in_step(const Program& step) override { return step; }  // its operands are others

  ExprId replaced(const Expr& expr) override {
    Expr product = expr;
    if (expr.op == ScalarOp::mul && expr.type == ElementType::f32) {
      for (const size_t k : {0, 1}) {
        if (is_integer_as_real(expr.args[1 - k]) && is_scale(expr.args[k]))
          product.args[k] =
              bound(ScalarOp::max, bound(ScalarOp::min, expr.args[k], largest_scale), least_scale);
      }
    }
    return append(product);
  }

  bool is_integer_as_real(ExprId id) const {
    const Expr& expr = at(id);
    return expr.op == ScalarOp::cast && is_integer(at(expr.args[0]).type);
  }
  bool is_scale(ExprId id) const {
    const Expr& expr = at(id);
    return expr.op == ScalarOp::load && expr.args[0] == none &&
           scales_.count(static_cast<TensorId>(expr.integer)) != 0;
  }
  ExprId bound(ScalarOp op, ExprId value, double limit) {
    Expr literal;
    literal.op = ScalarOp::real;
    literal.type = ElementType::f32;
    literal.real = limit;
    Expr bounded;
    bounded.op = op;
    bounded.type = ElementType::f32;
    bounded.args = {value, append(literal), none};
    return append(bounded);
  }

  const std::set<TensorId> scales_;
};

bool is_within(const Tensor& value) {
  if (value.type() != ElementType::f32) return false;
  for (int64_t k = 0; k < value.size(); ++k) {
    const double one = value.get_real(k);
    if (!(one >= least_scale && one <= largest_scale)) return false;
  }
  return true;
}

}  // namespace

Program bounded_scales(const Program& program, const std::vector<const Tensor*>& values) {
  std::set<TensorId> scales;
  for (size_t k = 0; k < program.operands.size() && k < values.size(); ++k) {
    const TensorId id = program.operands[k];
    if (id != none && values[k] != nullptr && is_within(*values[k])) scales.insert(id);
  }
  if (scales.empty()) return program;
  return without_dead_stages(ScaleReplacer(program, std::move(scales)).run());
}

}  // namespace axrun::ir
