// A sum of products of floats that are integers times factors, which are the same for all terms, is the sum
// of the integers times these factors:
//
//   sum (a[k] * s) * (b[k] * t) = s * t * sum a[k] * b[k]
//
// where products of literals are compared in f64, which holds those of two f32, and the sum on the right is
// one of i32: all that it may come to fits, so that nothing wraps. It may be a difference of two sums,
//
//   sum (x[k] - z) * b[k] = (sum x[k] * b[k]) - sum z * b[k]
//
// which holds for integers that wrap, whatever the literal z: where a[k] is 0 instead of x[k] - z, x[k] is z.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "verify/checks.h"
#include "verify/loop_nest.h"
#include "verify/same_value.h"
#include "verify/value_range.h"

namespace axrun::verify {

using ir::ElementType;
using ir::Monoid;
using ir::ScalarOp;
using HeadKind = ValueHead::Kind;

namespace {

bool is_real(ElementType type) { return type == ElementType::f32 || type == ElementType::f64; }

}  // namespace

void SameValue::factors(const TermList& facts, Symbolic* value, std::vector<Symbolic*>& found) {
  const auto head = value->head(facts);
  if (head->kind != HeadKind::operation || head->op != ScalarOp::mul || !is_real(head->type)) {
    found.push_back(value);
    return;
  }
  for (Symbolic* argument : head->arguments) factors(facts, argument, found);
}

/// The value as a product of integers and of some of `scales`, which are marked in `used`; zero: it is 0,
/// whatever the scales are. False where it is not seen to be that.
bool SameValue::divide(const TermList& facts, Symbolic* value, const std::vector<Symbolic*>& scales,
                       Quotient& quotient) {
  std::vector<Symbolic*> all;
  factors(facts, value, all);
  for (Symbolic* factor : all) {
    const auto head = factor->head(facts);
    if (head->kind == HeadKind::real && head->real == 0 && all.size() == 1) {
      quotient.zero = true;
      return true;
    }
    if (head->kind == HeadKind::real) {
      quotient.literal *= head->real;
      continue;
    }
    if (head->kind == HeadKind::operation && head->op == ScalarOp::cast && is_real(head->type) &&
        type_of(head->arguments[0], facts) == ElementType::i32) {
      quotient.integers.push_back(head->arguments[0]);
      continue;
    }
    if (head->kind == HeadKind::cases) {
      if (!divide_cases(facts, *head, scales, quotient)) return false;
      continue;
    }
    size_t k = 0;
    while (k < scales.size() &&
           (quotient.used[k] || !plausible(facts, factor, scales[k], 3) || !same(facts, factor, scales[k])))
      ++k;
    if (k == scales.size()) {
      if (checks::on("scaled_sums.varying_factor"))
        return no("a factor of the terms is no integer, and the same for none");
      continue;
    }
    quotient.used[k] = true;
  }
  return true;
}

/// Each case one integer, or 0, times the same scales.
bool SameValue::divide_cases(const TermList& facts, const ValueHead& cases,
                             const std::vector<Symbolic*>& scales, Quotient& quotient) {
  ValueHead chosen;
  chosen.kind = HeadKind::cases;
  std::optional<Quotient> first;  // that is not 0
  for (size_t k = 0; k < cases.terms.size(); ++k) {
    const TermList here = with(facts, cases.terms[k]);
    if (solver_.impossible(here)) continue;
    Quotient one{quotient.used, {}, 1, false};
    if (!divide(here, cases.arguments[k], scales, one)) return false;
    chosen.terms.push_back(cases.terms[k]);
    if (one.zero) {
      chosen.arguments.push_back(&kept_.emplace_back(integer_head(ElementType::i32, terms_.integer(0))));
      continue;
    }
    if (!first) first = one;
    const bool same_scales = first->used == one.used && first->literal == one.literal;
    if (one.integers.size() != 1 || (!same_scales && checks::on("scaled_sums.cases")))
      return no("the cases of a factor have different scales");
    chosen.arguments.push_back(one.integers[0]);
  }
  if (first) {
    quotient.used = first->used;
    quotient.literal *= first->literal;
  }
  quotient.zero = quotient.zero || !first;
  quotient.integers.push_back(&kept_.emplace_back(std::move(chosen)));
  return true;
}

/// What the part's terms come to at most, in all.
double SameValue::most_of(const TermList& facts, const Part& part, const std::vector<Symbolic*>& integers) {
  const TermList inside = with(facts, part.domain);
  double most = 1;
  for (Symbolic* integer : integers) {
    const auto range = range_of(terms_, integer, inside);
    if (!range) return std::numeric_limits<double>::infinity();
    most *= static_cast<double>(std::max(std::abs(range->low), std::abs(range->high)));
  }
  for (const Term variable : part.variables) {
    constexpr double highest = 1 << 30;
    const double bound = std::floor(terms_.magnitude(variable));
    if (!(bound < highest)) return std::numeric_limits<double>::infinity();
    const Term limit = terms_.integer(static_cast<int64_t>(bound) + 1);
    const bool holds = solver_.implied(inside, terms_.less(variable, limit)) &&
                       solver_.implied(inside, terms_.at_least(variable, terms_.integer(0)));
    if (!holds) return std::numeric_limits<double>::infinity();
    most *= bound + 1;
  }
  return most;
}

/// The literal that a value of i32 is; nothing where it is none.
std::optional<int64_t> SameValue::literal_integer(const TermList& facts, Symbolic* value) {
  const auto range = range_of(terms_, value, facts);
  return range && range->low == range->high ? std::optional(range->low) : std::nullopt;
}

/// Whether the value is others less a literal, always the same one, or 0.
bool SameValue::find_shift(const TermList& facts, Symbolic* value, std::optional<int64_t>& shift) {
  const auto head = value->head(facts);
  if (head->kind == HeadKind::cases) {
    for (size_t k = 0; k < head->terms.size(); ++k) {
      const TermList here = with(facts, head->terms[k]);
      if (!solver_.impossible(here) && !find_shift(here, head->arguments[k], shift)) return false;
    }
    return true;
  }
  if (literal_integer(facts, value) == 0) return true;
  if (head->kind != HeadKind::operation || head->op != ScalarOp::sub || head->type != ElementType::i32)
    return false;
  const auto literal = literal_integer(facts, head->arguments[1]);
  if (!literal || (shift && *shift != *literal)) return false;
  shift = literal;
  return true;
}

/// What find_shift found the value to be without the shift.
Symbolic* SameValue::shifted(const TermList& facts, Symbolic* value, int64_t shift) {
  const auto head = value->head(facts);
  if (head->kind == HeadKind::cases) {
    ValueHead cases;
    cases.kind = HeadKind::cases;
    for (size_t k = 0; k < head->terms.size(); ++k) {
      const TermList here = with(facts, head->terms[k]);
      if (solver_.impossible(here)) continue;
      cases.terms.push_back(head->terms[k]);
      cases.arguments.push_back(shifted(here, head->arguments[k], shift));
    }
    return &kept_.emplace_back(std::move(cases));
  }
  if (literal_integer(facts, value) == 0)
    return &kept_.emplace_back(integer_head(ElementType::i32, terms_.integer(shift)));
  return head->arguments[0];
}

/// The sum over the parts of products of integers.
ValueHead SameValue::sum_of_products(const std::vector<IntegerPart>& parts) {
  ValueHead whole;
  whole.kind = HeadKind::reduction;
  whole.type = ElementType::i32;
  whole.monoid = Monoid::Kind::sum;
  for (const IntegerPart& one : parts) {
    Part exact = one.part;
    exact.body = one.factors[0];
    for (size_t k = 1; k < one.factors.size(); ++k) {
      ValueHead next;
      next.op = ScalarOp::mul;
      next.type = ElementType::i32;
      next.arguments = {exact.body, one.factors[k]};
      exact.body = &kept_.emplace_back(std::move(next));
    }
    whole.parts.push_back(std::move(exact));
  }
  return whole;
}

/// Whether the sum of products is `sum` less `less`.
bool SameValue::same_difference(const TermList& facts, const std::vector<IntegerPart>& parts, Symbolic* sum,
                                Symbolic* less) {
  constexpr size_t two = 2;
  for (size_t side = 0; side < two; ++side) {
    std::vector<IntegerPart> plain = parts, shifts = parts;
    bool found = true;
    for (size_t k = 0; k < parts.size() && found; ++k) {
      if (parts[k].factors.size() != two) return no("a difference of sums of other products than of two");
      const TermList inside = with(facts, parts[k].part.domain);
      Symbolic* factor = parts[k].factors[side];
      std::optional<int64_t> shift;
      found = find_shift(inside, factor, shift) && shift.has_value();
      if (!found) continue;
      plain[k].factors[side] = shifted(inside, factor, *shift);
      shifts[k].factors[side] = &kept_.emplace_back(integer_head(ElementType::i32, terms_.integer(*shift)));
    }
    if (found && same_reduction(facts, sum_of_products(plain), *sum->head(facts)) &&
        same_reduction(facts, sum_of_products(shifts), *less->head(facts)))
      return true;
  }
  return no("a difference of sums is not that of the terms");
}

bool SameValue::same_scaled_sum(const TermList& facts, const ValueHead& sum, Symbolic* product) {
  if (sum.monoid != Monoid::Kind::sum || !is_real(sum.type)) return false;
  std::vector<Symbolic*> all, scales;
  factors(facts, product, all);
  Symbolic *integers = nullptr, *less = nullptr;
  const auto is_reduction = [&](Symbolic* value) { return value->head(facts)->kind == HeadKind::reduction; };
  double literal = 1;
  for (Symbolic* factor : all) {
    const auto head = factor->head(facts);
    const bool of_integer = integers == nullptr && head->kind == HeadKind::operation &&
                            head->op == ScalarOp::cast &&
                            type_of(head->arguments[0], facts) == ElementType::i32;
    const auto inner = of_integer ? head->arguments[0]->head(facts) : head;
    if (of_integer && inner->kind == HeadKind::reduction) {
      integers = head->arguments[0];
    } else if (of_integer && inner->kind == HeadKind::operation && inner->op == ScalarOp::sub &&
               is_reduction(inner->arguments[0]) && is_reduction(inner->arguments[1])) {
      integers = inner->arguments[0];
      less = inner->arguments[1];
    } else if (head->kind == HeadKind::real) {
      literal *= head->real;
    } else {
      scales.push_back(factor);
    }
  }
  if (integers == nullptr) return false;
  std::vector<IntegerPart> parts;
  double most = 0;
  for (const Part& part : flat(facts, sum)) {
    Quotient quotient{std::vector<bool>(scales.size()), {}, 1, false};
    if (!divide(with(facts, part.domain), part.body, scales, quotient)) return false;
    if (quotient.zero) continue;
    if (quotient.literal != literal && checks::on("scaled_sums.literal"))
      return no("the literal factors of a sum and of its terms differ");
    const bool all_used = std::count(quotient.used.begin(), quotient.used.end(), false) == 0;
    if (quotient.integers.empty() || (!all_used && checks::on("scaled_sums.lacking_factor")))
      return no("the terms of a sum lack a factor that it has");
    most += most_of(facts, part, quotient.integers);
    parts.push_back({part, quotient.integers});
  }
  if (!(most <= std::numeric_limits<int32_t>::max()) && checks::on("scaled_sums.fits"))
    return no("a sum of integers may not fit");
  if (less != nullptr) return same_difference(facts, parts, integers, less);
  return same_reduction(facts, sum_of_products(parts), *integers->head(facts));
}

}  // namespace axrun::verify
