#include "verify/index_operation.h"

#include "ir/arithmetic.h"

namespace axrun::verify {

using ir::ScalarOp;

namespace {

std::optional<Term> on_integers(Terms& terms, ScalarOp op, const TermList& a) {
  const auto positive_literal = [&](Term term) {
    return terms.is_literal(term) && terms.linear(term).constant > 0;
  };
  switch (op) {
    case ScalarOp::neg:
      return terms.scale(-1, a[0]);
    case ScalarOp::add:
      return terms.add(a[0], a[1]);
    case ScalarOp::sub:
      return terms.subtract(a[0], a[1]);
    case ScalarOp::mul:
      return terms.multiply(a[0], a[1]);
    case ScalarOp::min:
      return terms.minimum(a[0], a[1]);
    case ScalarOp::max:
      return terms.maximum(a[0], a[1]);
    case ScalarOp::floor_div:
      return positive_literal(a[1]) ? std::optional(terms.floor_div(a[0], a[1])) : std::nullopt;
    case ScalarOp::floor_mod:
      return positive_literal(a[1]) ? std::optional(terms.floor_mod(a[0], a[1])) : std::nullopt;
    case ScalarOp::equal:
      return terms.equal(a[0], a[1]);
    case ScalarOp::not_equal:
      return terms.negation(terms.equal(a[0], a[1]));
    case ScalarOp::less:
      return terms.less(a[0], a[1]);
    case ScalarOp::less_equal:
      return terms.at_least(a[1], a[0]);
    case ScalarOp::greater:
      return terms.less(a[1], a[0]);
    case ScalarOp::greater_equal:
      return terms.at_least(a[0], a[1]);
    default:
      return std::nullopt;
  }
}

std::optional<Term> on_booleans(Terms& terms, ScalarOp op, const TermList& a) {
  switch (op) {
    case ScalarOp::logical_not:
      return terms.negation(a[0]);
    case ScalarOp::logical_and:
      return terms.all({a[0], a[1]});
    case ScalarOp::logical_or:
      return terms.any({a[0], a[1]});
    case ScalarOp::equal:
      return terms.iff(a[0], a[1]);
    case ScalarOp::logical_xor:
    case ScalarOp::not_equal:
      return terms.negation(terms.iff(a[0], a[1]));
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Term> index_operation(Terms& terms, ScalarOp op, ir::ElementType of, const TermList& args) {
  if (of == ir::ElementType::i64) return on_integers(terms, op, args);
  if (of == ir::ElementType::boolean) return on_booleans(terms, op, args);
  return std::nullopt;
}

}  // namespace axrun::verify
