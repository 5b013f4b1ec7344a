#include "verify/symbolic_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/arithmetic.h"
#include "verify/checks.h"
#include "verify/value_range.h"

namespace axrun::verify {

using ir::ElementType;
using ir::Monoid;

std::shared_ptr<const ValueHead> Symbolic::head(const TermList& facts) {
  TermList sorted = facts;
  std::sort(sorted.begin(), sorted.end());
  if (!known_ || !std::includes(sorted.begin(), sorted.end(), known_for_.begin(), known_for_.end())) {
    auto found = std::make_shared<const ValueHead>(unfold(facts));
    known_ = std::move(found);
    known_for_ = std::move(sorted);
  }
  return known_;
}

ValueHead integer_head(ElementType type, Term term) {
  ValueHead head;
  head.kind = ValueHead::Kind::integer;
  head.type = type;
  head.terms = {term};
  return head;
}

ValueHead real_head(ElementType type, double value) {
  ValueHead head;
  head.kind = ValueHead::Kind::real;
  head.type = type;
  head.real = value;
  return head;
}

ValueHead cast_head(Terms& terms, ir::ScalarOp op, ElementType to, ElementType from, Symbolic* argument,
                    const TermList& facts) {
  const auto wide = [](ElementType type) { return type == ElementType::f32 || type == ElementType::f64; };
  if (to == from || (wide(to) && wide(from))) return *argument->head(facts);
  const ValueHead inner = *argument->head(facts);
  constexpr int64_t exact = int64_t{1} << 24;
  const bool literal = inner.kind == ValueHead::Kind::integer && terms.is_literal(inner.terms[0]);
  if (literal && ir::is_integer(to)) {
    const bool saturate = op == ir::ScalarOp::cast_saturate;
    const int64_t value = terms.linear(inner.terms[0]).constant;
    return integer_head(to, terms.integer(ir::integer_to_integer(from, to, value, saturate)));
  }
  // Through a narrower type and back: nothing, where that holds the value.
  const bool narrowed = inner.kind == ValueHead::Kind::operation && inner.op == ir::ScalarOp::cast &&
                        ir::is_integer(inner.type) && inner.type == from && ir::is_integer(to);
  if (op == ir::ScalarOp::cast && narrowed) {
    Symbolic* original = inner.arguments[0];
    const auto range = range_of(terms, original, facts);
    const bool fits = range && ir::integer_min(from) <= range->low && range->high <= ir::integer_max(from);
    if ((fits || !checks::on("values.narrowed")) && type_of(original, facts) == to)
      return *original->head(facts);
  }
  if (wide(to) && literal) {
    const int64_t value = terms.linear(inner.terms[0]).constant;
    if (-exact <= value && value <= exact) return real_head(to, static_cast<double>(value));
  }
  ValueHead head;
  head.op = op;
  head.type = to;
  head.arguments = {argument};
  return head;
}

ElementType type_of(Symbolic* value, const TermList& facts) {
  auto head = value->head(facts);
  while (head->kind == ValueHead::Kind::cases) head = head->arguments[0]->head(facts);
  return head->type;
}

ir::ScalarOp operation_of(Monoid::Kind monoid) {
  switch (monoid) {
    case Monoid::Kind::sum:
      return ir::ScalarOp::add;
    case Monoid::Kind::product:
      return ir::ScalarOp::mul;
    case Monoid::Kind::min:
      return ir::ScalarOp::min;
    default:
      return ir::ScalarOp::max;
  }
}

bool is_identity(const Terms& terms, const ValueHead& head, Monoid::Kind monoid) {
  if (head.kind == ValueHead::Kind::real) {
    switch (monoid) {
      case Monoid::Kind::sum:
        return head.real == 0;
      case Monoid::Kind::product:
        return head.real == 1;
      case Monoid::Kind::min:
        return head.real == std::numeric_limits<double>::infinity();
      case Monoid::Kind::max:
        return head.real == -std::numeric_limits<double>::infinity();
      default:
        return false;
    }
  }
  if (head.kind != ValueHead::Kind::integer || !terms.is_literal(head.terms[0])) return false;
  const int64_t value = terms.linear(head.terms[0]).constant;
  switch (monoid) {
    case Monoid::Kind::sum:
      return value == 0;
    case Monoid::Kind::product:
      return value == 1;
    case Monoid::Kind::min:
      return head.type != ElementType::u64 && value == ir::integer_max(head.type);
    case Monoid::Kind::max:
      return head.type != ElementType::u64 && value == ir::integer_min(head.type);
    default:
      return false;
  }
}

}  // namespace axrun::verify
