#include "verify/value_range.h"

#include <algorithm>

#include "ir/types.h"
#include "verify/loop_nest.h"

namespace axrun::verify {

using ir::ElementType;
using ir::ScalarOp;
using HeadKind = ValueHead::Kind;

namespace {

constexpr int deepest = 8;

bool holds(ElementType type, const ValueRange& range) {
  return ir::integer_min(type) <= range.low && range.high <= ir::integer_max(type);
}

class Bounds {
 public:
  Bounds(const Terms& terms, const TermList& facts) : terms_(terms), facts_(facts) {}

  std::optional<ValueRange> of(Symbolic* value, int depth) const {
    const auto head = value->head(facts_);
    if (head->kind == HeadKind::cases) return of_cases(*head, depth);
    if (!ir::is_integer(head->type) || ir::bits_of(head->type) > 32 || depth > deepest) return std::nullopt;
    const ValueRange all{ir::integer_min(head->type), ir::integer_max(head->type)};
    switch (head->kind) {
      case HeadKind::integer: {
        if (!terms_.is_literal(head->terms[0])) return all;
        const int64_t literal = terms_.linear(head->terms[0]).constant;
        return ValueRange{literal, literal};
      }
      case HeadKind::operation: {
        const auto found = operation(*head, depth);
        // What does not fit wraps: to anything.
        return found && holds(head->type, *found) ? *found : all;
      }
      case HeadKind::input:
        return all;
      default:
        return std::nullopt;
    }
  }

 private:
  std::optional<ValueRange> of_cases(const ValueHead& head, int depth) const {
    std::optional<ValueRange> all;
    for (size_t k = 0; k < head.arguments.size() && depth <= deepest; ++k) {
      const auto one = Bounds(terms_, with(facts_, head.terms[k])).of(head.arguments[k], depth + 1);
      if (!one) return std::nullopt;
      all = all ? ValueRange{std::min(all->low, one->low), std::max(all->high, one->high)} : *one;
    }
    return all;
  }

  std::optional<ValueRange> operation(const ValueHead& head, int depth) const {
    if (head.op != ScalarOp::cast && head.op != ScalarOp::add && head.op != ScalarOp::sub)
      return std::nullopt;
    const auto a = of(head.arguments[0], depth + 1);
    if (!a || head.op == ScalarOp::cast) return a;
    const auto b = of(head.arguments[1], depth + 1);
    if (!b) return std::nullopt;
    if (head.op == ScalarOp::add) return ValueRange{a->low + b->low, a->high + b->high};
    return ValueRange{a->low - b->high, a->high - b->low};
  }

  const Terms& terms_;
  const TermList& facts_;
};

}  // namespace

std::optional<ValueRange> range_of(const Terms& terms, Symbolic* value, const TermList& facts) {
  return Bounds(terms, facts).of(value, 0);
}

}  // namespace axrun::verify
