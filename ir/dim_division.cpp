// Floor division and modulo of polynomials. The steps bring equal quotients to one form: extract what
// divides, cancel common factors, merge nested divisions, decide by bounds; what is left becomes an atom.
#include <algorithm>
#include <numeric>

#include "ir/dim_polynomial.h"
#include "ir/error.h"

namespace axrun::ir {
namespace {

/// dividend = quotient * divisor + rest
struct Split {
  Dim quotient;
  Dim rest;
};

int64_t leading_coefficient(const Dim& dim) {
  return dim.is_constant() ? dim.value() : DimNode::of(dim)->terms.front().coefficient;
}

/// Divisor of one term, coefficient > 0: every coefficient of a multiple of it comes down to [0,
/// coefficient).
Split split_by_term(const Dim& dividend, const DimTerm& divisor) {
  DimTerms quotient;
  DimTerms rest;
  for (const DimTerm& term : terms_of(dividend)) {
    auto factors = divide_factors(term.factors, divisor.factors);
    if (!factors) {
      rest.push_back(term);
      continue;
    }
    quotient.push_back({floor_quotient(term.coefficient, divisor.coefficient), std::move(*factors)});
    rest.push_back({floor_remainder(term.coefficient, divisor.coefficient), term.factors});
  }
  return {dim_from_terms(std::move(quotient)), dim_from_terms(std::move(rest))};
}

/// False when an earlier operation may have saturated.
bool far_from_saturation(const Dim& dim) {
  constexpr int64_t bound = int64_t{1} << 62;
  const DimTerms terms = terms_of(dim);
  return std::all_of(terms.begin(), terms.end(), [](const DimTerm& term) {
    return -bound < term.coefficient && term.coefficient < bound;
  });
}

/// Long division by a divisor of several terms, taken when it leaves a constant.
Split split_by_polynomial(const Dim& dividend, const Dim& divisor) {
  const Split nothing{0, dividend};
  const DimTerm lead = DimNode::of(divisor)->terms.front();
  Split split = nothing;
  for (int steps_left = 64; !split.rest.is_constant(); --steps_left) {
    const DimTerm term = DimNode::of(split.rest)->terms.front();
    auto factors = divide_factors(term.factors, lead.factors);
    if (steps_left == 0 || !factors || term.coefficient % lead.coefficient != 0) return nothing;
    const Dim part = dim_from_term({term.coefficient / lead.coefficient, std::move(*factors)});
    const Dim product = part * divisor;
    split = {split.quotient + part, split.rest - product};
    if (!far_from_saturation(product) || !far_from_saturation(split.rest)) return nothing;
  }
  return split;
}

Split split(const Dim& dividend, const Dim& divisor) {
  const DimTerms terms = terms_of(divisor);
  return terms.size() == 1 ? split_by_term(dividend, terms.front()) : split_by_polynomial(dividend, divisor);
}

/// dividend = factor * reduced_dividend + remainder and divisor = factor * reduced_divisor, 0 <= remainder <
/// factor; a remainder other than 0 only where the divisor is known to be positive.
struct Cancelled {
  Dim factor;
  Dim reduced_dividend;
  Dim reduced_divisor;
  int64_t remainder = 0;
};

Cancelled cancel_common_factor(const Dim& dividend, const Dim& divisor) {
  const auto magnitude = [](int64_t value) { return value < 0 ? 0 - static_cast<uint64_t>(value) : value; };
  DimTerms above = terms_of(dividend);
  DimTerms below = terms_of(divisor);
  const int64_t constant = constant_part(dividend);
  uint64_t content = 0;
  std::vector<DimAtomPointer> common = below.front().factors;
  for (const DimTerms* terms : {&below, &above}) {
    for (const DimTerm& term : *terms) {
      if (terms == &below || !term.factors.empty()) content = std::gcd(content, magnitude(term.coefficient));
      std::erase_if(common, [unmatched = term.factors](const DimAtomPointer& atom) mutable {
        const auto found = std::find_if(unmatched.begin(), unmatched.end(), [&](const DimAtomPointer& other) {
          return compare(*atom, *other) == 0;
        });
        if (found == unmatched.end()) return true;
        unmatched.erase(found);
        return false;
      });
    }
  }
  if (range_of(divisor).low < 0) content = std::gcd(content, magnitude(constant));
  const int64_t integer = content > static_cast<uint64_t>(INT64_MAX) ? 1 : static_cast<int64_t>(content);

  Cancelled result{dim_from_term({integer, common}), 0, 0};
  for (DimTerms* terms : {&above, &below}) {
    for (DimTerm& term : *terms) {
      if (term.factors.empty() && terms == &above)
        result.remainder = floor_remainder(term.coefficient, integer);
      term.coefficient = floor_quotient(term.coefficient, integer);
      term.factors = *divide_factors(term.factors, common);
    }
  }
  result.reduced_dividend = dim_from_terms(std::move(above));
  result.reduced_divisor = dim_from_terms(std::move(below));
  return result;
}

/// floor((floor(x / c) + k) / d) = floor((x + k * c) / (c * d)) for constants c, d > 0 and k.
std::optional<Dim> merge_nested_division(const Dim& dividend, const Dim& divisor) {
  const int64_t offset = constant_part(dividend);
  const DimAtom* inner = single_atom(dividend - offset, DimAtom::Kind::floor_div);
  if (inner == nullptr || !divisor.is_constant() || !inner->arguments[1].is_constant()) return std::nullopt;
  const int64_t inner_divisor = inner->arguments[1].value();
  constexpr int64_t small = int64_t{1} << 31;
  if (divisor.value() >= small || inner_divisor >= small || inner_divisor <= 0) return std::nullopt;
  if (offset <= -small || offset >= small) return std::nullopt;
  return floor_div(inner->arguments[0] + Dim(offset) * inner->arguments[1], inner->arguments[1] * divisor);
}

/// The quotient, where bounds alone decide it.
std::optional<int64_t> quotient_by_bounds(const Dim& dividend, const Dim& divisor) {
  const DimInterval range = range_of(dividend);
  if (range_of(divisor).low < 0) return std::nullopt;
  if (range.low >= 0 && provably_at_least(divisor, dividend + 1)) return 0;
  if (range.low == -1 && range.high == -1) return -1;
  if (!divisor.is_constant() || range.low == INT64_MIN || range.high == INT64_MAX) return std::nullopt;
  const int64_t lowest = floor_quotient(range.low, divisor.value());
  if (lowest != floor_quotient(range.high, divisor.value())) return std::nullopt;
  return lowest;
}

void require_nonzero(const Dim& dividend, const Dim& divisor) {
  if (divisor.constant() == 0)
    throw Error(Fault::user, "the size " + dividend.to_string() + " is divided by 0");
}

/// (x mod c) may be replaced by x under a modulo of d when its coefficient times c is a multiple of d.
Dim drop_nested_modulo(const Dim& dividend, int64_t divisor) {
  Dim result = dividend;
  for (const DimTerm& term : terms_of(dividend)) {
    if (term.factors.size() != 1 || term.factors.front()->kind != DimAtom::Kind::floor_mod) continue;
    const std::vector<Dim>& arguments = term.factors.front()->arguments;
    int64_t period;
    if (!arguments[1].is_constant()) continue;
    if (__builtin_mul_overflow(term.coefficient, arguments[1].value(), &period) || period % divisor != 0)
      continue;
    result = result - dim_from_term(term) + Dim(term.coefficient) * arguments[0];
  }
  return result;
}

}  // namespace

Dim floor_div(const Dim& a, const Dim& b) {
  require_nonzero(a, b);
  if (a.is_constant() && b.is_constant()) return floor_quotient(a.value_, b.value_);
  if (b == Dim(1) || a == Dim(0)) return a;
  if (leading_coefficient(b) < 0) return floor_div(0 - a, 0 - b);

  const auto [quotient, rest] = split(a, b);
  if (rest == Dim(0)) return quotient;
  const Cancelled cancelled = cancel_common_factor(rest, b);
  if (cancelled.factor != Dim(1))
    return quotient + floor_div(cancelled.reduced_dividend, cancelled.reduced_divisor);
  if (const auto merged = merge_nested_division(rest, b)) return quotient + *merged;
  if (const auto decided = quotient_by_bounds(rest, b)) return quotient + *decided;
  return quotient + dim_from_atom(DimAtom::Kind::floor_div, {rest, b});
}

Dim floor_mod(const Dim& a, const Dim& b) {
  require_nonzero(a, b);
  if (a.is_constant() && b.is_constant()) return floor_remainder(a.value_, b.value_);
  if (b == Dim(1)) return 0;
  if (leading_coefficient(b) < 0) return 0 - floor_mod(0 - a, 0 - b);

  Dim rest = split(a, b).rest;
  if (b.is_constant()) {
    Dim flat = drop_nested_modulo(rest, b.value());
    if (flat != rest) return floor_mod(flat, b);
  }
  if (rest == Dim(0)) return 0;
  const Cancelled cancelled = cancel_common_factor(rest, b);
  if (cancelled.factor != Dim(1)) {
    return cancelled.factor * floor_mod(cancelled.reduced_dividend, cancelled.reduced_divisor) +
           cancelled.remainder;
  }
  if (const auto decided = quotient_by_bounds(rest, b)) return rest - Dim(*decided) * b;
  return dim_from_atom(DimAtom::Kind::floor_mod, {rest, b});
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (!a.is_constant() && range_of(b).low >= 0) return floor_div(a + (b - 1), b);
  return 0 - floor_div(0 - a, b);
}

}  // namespace axrun::ir
