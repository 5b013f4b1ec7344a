// What can be said about the value of a Dim when every name is at least 0.
#include <algorithm>

#include "ir/dim_polynomial.h"

namespace axrun::ir {
namespace {

// A bound at the end of int64 stands for infinity and absorbs what is added to it.
int64_t add_low(int64_t a, int64_t b) {
  return a == INT64_MIN || b == INT64_MIN ? INT64_MIN : saturating_add(a, b);
}
int64_t add_high(int64_t a, int64_t b) {
  return a == INT64_MAX || b == INT64_MAX ? INT64_MAX : saturating_add(a, b);
}

bool infinite(int64_t bound) { return bound == INT64_MIN || bound == INT64_MAX; }

int64_t multiply_bounds(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return saturating_multiply(a, b);
}

DimInterval multiply(DimInterval a, DimInterval b) {
  const int64_t corners[] = {multiply_bounds(a.low, b.low), multiply_bounds(a.low, b.high),
                             multiply_bounds(a.high, b.low), multiply_bounds(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

DimInterval divide(DimInterval a, DimInterval b) {
  if (b.low == b.high && b.low > 0) {
    return {infinite(a.low) ? a.low : floor_quotient(a.low, b.low),
            infinite(a.high) ? a.high : floor_quotient(a.high, b.low)};
  }
  if (b.low < 0) return {};
  // A divisor of at least 1 moves the value towards 0, or to -1 from below.
  return {std::min<int64_t>(a.low, 0), a.high >= 0 ? a.high : -1};
}

DimInterval modulo(DimInterval a, DimInterval b) {
  if (b.low < 0) return {};
  const int64_t high = infinite(b.high) ? b.high : std::max<int64_t>(b.high - 1, 0);
  return {0, a.low >= 0 ? std::min(a.high, high) : high};
}

/// Small enough that a product of two coefficients cannot overflow: saturated ones would prove falsehoods.
bool has_small_coefficients(const Dim& dim) {
  constexpr int64_t small = int64_t{1} << 31;
  if (dim.is_constant()) return -small < dim.value() && dim.value() < small;
  const DimTerms& terms = DimNode::of(dim)->terms;
  return std::all_of(terms.begin(), terms.end(), [](const DimTerm& term) {
    return -small < term.coefficient && term.coefficient < small;
  });
}

/// A lower bound of the Dim, or INT64_MIN. `steps` bounds the number of replacements below.
int64_t lower_bound(const Dim& dim, int steps) {
  const int64_t low = range_of(dim).low;
  if (low != INT64_MIN || steps == 0 || dim.is_constant()) return low;
  // Intervals forget that x and floor(x / c) move together. Replace one such atom by its bound in terms of x:
  //   (x - c + 1) / c <= floor(x / c) <= x / c,   x mod d <= d - 1.
  if (!has_small_coefficients(dim)) return low;
  for (const DimTerm& term : DimNode::of(dim)->terms) {
    if (term.factors.size() != 1) continue;
    const DimAtom& atom = *term.factors.front();
    if (!std::all_of(atom.arguments.begin(), atom.arguments.end(), has_small_coefficients)) continue;
    if (atom.kind == DimAtom::Kind::floor_mod && term.coefficient < 0 &&
        range_of(atom.arguments[1]).low >= 0) {
      return lower_bound(dim - dim_from_term(term) + Dim(term.coefficient) * (atom.arguments[1] - 1),
                         steps - 1);
    }
    if (atom.kind != DimAtom::Kind::floor_div || !atom.arguments[1].is_constant()) continue;
    const int64_t divisor = atom.arguments[1].value();
    if (divisor <= 0) continue;
    const Dim bound = term.coefficient > 0 ? atom.arguments[0] - (divisor - 1) : atom.arguments[0];
    const Dim scaled = Dim(divisor) * (dim - dim_from_term(term)) + Dim(term.coefficient) * bound;
    const int64_t scaled_low = lower_bound(scaled, steps - 1);
    return infinite(scaled_low) ? scaled_low : -floor_quotient(-scaled_low, divisor);
  }
  return low;
}

}  // namespace

DimInterval range_of(const Dim& dim) {
  if (dim.is_constant()) return {dim.value(), dim.value()};
  DimInterval sum{0, 0};
  for (const DimTerm& term : DimNode::of(dim)->terms) {
    DimInterval product{term.coefficient, term.coefficient};
    for (const DimAtomPointer& atom : term.factors) product = multiply(product, atom->range);
    sum = {add_low(sum.low, product.low), add_high(sum.high, product.high)};
  }
  return sum;
}

DimInterval range_of_atom(DimAtom::Kind kind, const std::vector<Dim>& arguments) {
  if (kind == DimAtom::Kind::symbol) return {0, INT64_MAX};
  DimInterval range = range_of(arguments[0]);
  for (size_t i = 1; i < arguments.size(); ++i) {
    const DimInterval other = range_of(arguments[i]);
    switch (kind) {
      case DimAtom::Kind::floor_div:
        range = divide(range, other);
        break;
      case DimAtom::Kind::floor_mod:
        range = modulo(range, other);
        break;
      case DimAtom::Kind::min:
        range = {std::min(range.low, other.low), std::min(range.high, other.high)};
        break;
      default:
        range = {std::max(range.low, other.low), std::max(range.high, other.high)};
        break;
    }
  }
  return range;
}

bool provably_at_least(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return a.value() >= b.value();
  // The ends of int64 stand for "no limit": their differences would saturate.
  if (a == Dim(INT64_MAX) || b == Dim(INT64_MIN)) return true;
  if (a == Dim(INT64_MIN) || b == Dim(INT64_MAX)) return false;
  constexpr int replacements = 8;
  return lower_bound(a - b, replacements) >= 0;
}

}  // namespace axrun::ir
