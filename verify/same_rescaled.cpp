// Sums of exponentials that are rescaled whenever a maximum grows: softmax, and products with it, over tiles.
//
// Over the reals, with exp(a - b) as exp(a) / exp(b):
//   1. A sum is multiplied by f(t) in iteration t, and x(t) is added (rescaling.cpp). Let f(t) = a(t) / b(t),
//      where a(t) = b(t - 1) factor by factor. Then it is the sum of x(t) * b(t), divided by b(last).
//   2. The expression is the sum over k of exp(s(k) - m) * w(k) / T, where T is the sum over k of
//      exp(s(k) - m'), and m = m' at any two k: neither depends on it. That is the sum of exp(s(k)) * w(k),
//      divided by that of exp(s(k)).
// Both sides become products of sums whose terms have no maximum left, and what is equal cancels. Nothing
// that is divided by is 0: sums of exponentials have a term, other divisors are at least a positive literal
// (is_positive).
//
// That would allow leaving out the maximum altogether, which is right over the reals and wrong in life. So
// every exp(a - b) of the program that is taken apart must have a <= b: b is a maximum, and a one of what it
// is taken of, or the maximum of a part of that (at_most). Then no exponential is above 1, as there.
#include <algorithm>

#include "verify/checks.h"
#include "verify/loop_nest.h"
#include "verify/same_value.h"
#include "verify/unproved.h"

namespace axrun::verify {

using ir::Monoid;
using ir::ScalarOp;
using HeadKind = ValueHead::Kind;

namespace {

bool is_real(ir::ElementType type) { return type == ir::ElementType::f32 || type == ir::ElementType::f64; }

bool is_operation(const ValueHead& head, ScalarOp op) {
  return head.kind == HeadKind::operation && head.op == op && is_real(head.type);
}

ValueHead operation(ScalarOp op, ir::ElementType type, std::vector<Symbolic*> arguments) {
  ValueHead head;
  head.op = op;
  head.type = type;
  head.arguments = std::move(arguments);
  return head;
}

ValueHead plain_sum(const ValueHead& rescaled) {
  ValueHead head = rescaled;
  head.kind = HeadKind::reduction;
  head.monoid = Monoid::Kind::sum;
  return head;
}

void append_to(std::vector<Symbolic*>& list, const std::vector<Symbolic*>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

bool SameValue::has_rescaled(const TermList& facts, Symbolic* value, int depth) {
  const auto head = value->head(facts);
  if (head->kind == HeadKind::rescaled) return true;
  const bool factors = is_operation(*head, ScalarOp::mul) || is_operation(*head, ScalarOp::div);
  if (!factors || depth == 0) return false;
  return has_rescaled(facts, head->arguments[0], depth - 1) ||
         has_rescaled(facts, head->arguments[1], depth - 1);
}

void SameValue::multiply(const TermList& facts, Symbolic* value, bool inverse, Product& product) {
  const auto head = value->head(facts);
  if (head->kind == HeadKind::rescaled) return multiply_rescaled(facts, *head, inverse, product);
  if (head->kind == HeadKind::real && head->real == 1) return;
  if (is_operation(*head, ScalarOp::mul) || is_operation(*head, ScalarOp::div)) {
    multiply(facts, head->arguments[0], inverse, product);
    return multiply(facts, head->arguments[1], inverse != (head->op == ScalarOp::div), product);
  }
  if (!is_operation(*head, ScalarOp::exp)) return (inverse ? product.below : product.above).push_back(value);
  const auto argument = head->arguments[0]->head(facts);
  const bool difference = is_operation(*argument, ScalarOp::sub);
  (inverse ? product.minus : product.plus)
      .push_back(difference ? argument->arguments[0] : head->arguments[0]);
  if (difference) (inverse ? product.plus : product.minus).push_back(argument->arguments[1]);
}

SameValue::Product SameValue::factors(const TermList& facts, Symbolic* value) {
  Product product;
  multiply(facts, value, false, product);
  return product;
}

/// b(time), of a factor a(time) / b(time).
SameValue::Product SameValue::divisor(const TermList& facts, const Rescaling& rescaling, Term time) {
  const Product factor = factors(facts, rescaling.factor(time));
  return {factor.below, {}, factor.minus, {}};
}

/// That a(t) = b(t - 1), that the exponent of a factor is not positive, and that b(t) is.
void SameValue::require_telescoping(const TermList& facts, const Rescaling& rescaling) {
  const Term time = terms_.variable("t", terms_.magnitude(rescaling.last));
  const Term zero = terms_.integer(0), one = terms_.integer(1);
  const TermList any = with(with(facts, terms_.at_least(time, zero)), terms_.at_least(rescaling.last, time));
  const Product here = factors(any, rescaling.factor(time));
  const bool one_each = here.plus.size() == 1 && here.minus.size() == 1;
  if (!(one_each && at_most(any, here.plus[0], here.minus[0])) && checks::on("rescaled.factor_at_most_one"))
    throw Unproved{"what a sum is rescaled by is not shown to be 1 at most"};
  for (Symbolic* factor : here.below) {
    if (!is_positive(any, factor)) throw Unproved{"what a sum is rescaled by is perhaps divided by 0"};
  }
  const TermList later = with(any, terms_.at_least(time, one));
  Product now = factors(later, rescaling.factor(time));
  Product before = divisor(later, rescaling, terms_.subtract(time, one));
  const bool telescopes = pair_up(later, now.above, before.above) && pair_up(later, now.plus, before.plus) &&
                          before.above.empty() && before.plus.empty() && now.above.empty() &&
                          now.plus.empty();
  if (!telescopes && checks::on("rescaled.telescopes"))
    throw Unproved{"what a sum is rescaled by does not follow from the iteration before"};
}

void SameValue::multiply_rescaled(const TermList& facts, const ValueHead& sum, bool inverse,
                                  Product& product) {
  const Rescaling& rescaling = *sum.rescaling;
  if (!solver_.implied(facts, terms_.at_least(rescaling.last, terms_.integer(0))))
    throw Unproved{"a sum is perhaps never rescaled"};
  require_telescoping(facts, rescaling);
  std::vector<Part> parts = flat(facts, plain_sum(sum));
  for (Part& part : parts) {
    const TermList inside = with(facts, part.domain);
    const auto time = std::find_if(rescaling.times.begin(), rescaling.times.end(), [&](Term t) {
      return std::count(part.variables.begin(), part.variables.end(), t) != 0;
    });
    if (time == rescaling.times.end()) throw Unproved{"it is not known when something is added to a sum"};
    Product body = factors(inside, part.body);
    for (Symbolic* const exponent : body.minus) {
      const bool small = std::any_of(body.plus.begin(), body.plus.end(),
                                     [&](Symbolic* s) { return at_most(inside, s, exponent, part.claim); });
      if (!small && checks::on("rescaled.exponential_at_most_one"))
        throw Unproved{"an exponential of a rescaled sum is not shown to be 1 at most"};
    }
    const Product scale = divisor(inside, rescaling, *time);
    append_to(body.above, scale.above);
    append_to(body.plus, scale.plus);
    cancel(inside, body);
    part.body = product_of(body, sum.type);
  }
  (inverse ? product.below : product.above).push_back(sum_of(std::move(parts), sum.type));
  const Product last = divisor(facts, rescaling, rescaling.last);
  append_to(inverse ? product.above : product.below, last.above);
  append_to(inverse ? product.plus : product.minus, last.plus);
}

/// The expression as one sum divided by another, both without a maximum.
SameValue::Product SameValue::softmax_product(const TermList& facts, Symbolic* expression) {
  const auto head = expression->head(facts);
  const Unproved other{"a rescaled sum stands for something else than products with a softmax"};
  if (head->kind != HeadKind::reduction || head->monoid != Monoid::Kind::sum) throw other;
  std::vector<Part> parts = flat(facts, *head);
  if (parts.size() != 1) throw other;
  const TermList inside = with(facts, parts[0].domain);
  Product body = factors(inside, parts[0].body);
  if (body.minus.size() != 1 || body.below.size() != 1) throw other;
  const auto total = body.below[0]->head(inside);
  if (total->kind != HeadKind::reduction || total->monoid != Monoid::Kind::sum) throw other;
  std::vector<Part> terms = flat(inside, *total);
  if (terms.size() != 1) throw other;
  const TermList both = with(inside, terms[0].domain);
  Product term = factors(both, terms[0].body);
  if (term.minus.size() != 1 || !same(both, term.minus[0], body.minus[0])) throw other;
  // It has a term: there is one at 0.
  std::map<Term, Term> first;
  for (const Term variable : terms[0].variables) first[variable] = terms_.integer(0);
  if (!term.above.empty() || !term.below.empty() || term.plus.size() != 1 ||
      !solver_.implied(facts, terms_.substitute(terms_.all(terms[0].domain), first)))
    throw Unproved{"the sum of a softmax is perhaps 0"};
  body.minus.clear();
  body.below.clear();
  term.minus.clear();
  parts[0].body = product_of(body, head->type);
  terms[0].body = product_of(term, head->type);
  Product result;
  result.above = {sum_of(std::move(parts), head->type)};
  result.below = {sum_of(std::move(terms), head->type)};
  return result;
}

bool SameValue::same_rescaled(const TermList& facts, Symbolic* a, Symbolic* b) {
  const bool within = b->head(facts)->kind == HeadKind::rescaled;
  const bool around = one_side_;
  one_side_ = true;
  Product mine = factors(facts, a);
  Product theirs = within ? factors(facts, b) : softmax_product(facts, b);
  cancel(facts, mine);
  cancel(facts, theirs);
  one_side_ = within || around;
  const bool paired = pair_up(facts, mine.above, theirs.above) && pair_up(facts, mine.below, theirs.below) &&
                      pair_up(facts, mine.plus, theirs.plus) && pair_up(facts, mine.minus, theirs.minus);
  one_side_ = around;
  const auto left = [](const Product& p) {
    return !p.above.empty() || !p.below.empty() || !p.plus.empty() || !p.minus.empty();
  };
  const bool same_products = paired && !left(mine) && !left(theirs);
  if (!same_products && checks::on("rescaled.products"))
    return no("rescaled sums are not those of the expression");
  return true;
}

/// Takes away pairs of equal ones; false where one of the first list is left.
bool SameValue::pair_up(const TermList& facts, std::vector<Symbolic*>& left, std::vector<Symbolic*>& right) {
  for (size_t i = 0; i < left.size();) {
    const auto found = std::find_if(right.begin(), right.end(), [&](Symbolic* other) {
      return plausible(facts, left[i], other, 3) && same(facts, left[i], other);
    });
    if (found == right.end()) {
      ++i;
      continue;
    }
    right.erase(found);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return left.empty();
}

/// Divisors only that are not 0.
void SameValue::cancel(const TermList& facts, Product& product) {
  const auto other = std::stable_partition(product.below.begin(), product.below.end(),
                                           [&](Symbolic* divisor) { return is_positive(facts, divisor); });
  std::vector<Symbolic*> positive(product.below.begin(), other);
  product.below.erase(product.below.begin(), other);
  pair_up(facts, product.above, positive);
  append_to(product.below, positive);
  pair_up(facts, product.plus, product.minus);
}

/// b is a maximum, and a one of its terms, or a maximum of such. claim: of a, perhaps.
bool SameValue::at_most(const TermList& facts, Symbolic* a, Symbolic* b, const Claim& claim) {
  constexpr Monoid::Kind max = Monoid::Kind::max;
  const auto terms_of_maximum = [&](Symbolic* value) {
    ValueHead head = *value->head(facts);
    if (head.kind == HeadKind::reduction && head.monoid == max) return flat(facts, head);
    head.parts = {{{}, {}, {}, value, claim}};
    head.kind = HeadKind::reduction;
    head.monoid = max;
    return flat(facts, head);
  };
  const std::vector<Part> mine = terms_of_maximum(a), theirs = terms_of_maximum(b);
  return std::all_of(mine.begin(), mine.end(), [&](const Part& part) {
    return std::any_of(theirs.begin(), theirs.end(), [&](const Part& other) {
      Match match;
      return matches(facts, max, part, other, match);
    });
  });
}

/// A maximum with a positive literal.
bool SameValue::is_positive(const TermList& facts, Symbolic* value) {
  const auto head = value->head(facts);
  if (head->kind == HeadKind::real) return head->real > 0;
  if (!is_operation(*head, ScalarOp::max)) return !checks::on("rescaled.divisor");
  return is_positive(facts, head->arguments[0]) || is_positive(facts, head->arguments[1]);
}

Symbolic* SameValue::product_of(const Product& product, ir::ElementType type) {
  if (!product.minus.empty() || !product.below.empty() || product.plus.size() != 1)
    throw Unproved{"a term of a rescaled sum has more than an exponential and factors"};
  Symbolic* result = &kept_.emplace_back(operation(ScalarOp::exp, type, {product.plus[0]}));
  for (Symbolic* factor : product.above)
    result = &kept_.emplace_back(operation(ScalarOp::mul, type, {result, factor}));
  return result;
}

Symbolic* SameValue::sum_of(std::vector<Part> parts, ir::ElementType type) {
  ValueHead head;
  head.kind = HeadKind::reduction;
  head.type = type;
  head.parts = std::move(parts);
  return &kept_.emplace_back(std::move(head));
}

}  // namespace axrun::verify
