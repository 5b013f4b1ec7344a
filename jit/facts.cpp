#include "jit/facts.h"

#include <algorithm>

#include "ir/dim_polynomial.h"
#include "ir/error.h"

namespace axrun::jit {

using ir::Dim;

namespace {

bool infinite(int64_t bound) { return bound == INT64_MIN || bound == INT64_MAX; }

int64_t multiply_bounds(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (infinite(a) || infinite(b)) return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return ir::saturating_multiply(a, b);
}

Interval multiply(Interval a, Interval b) {
  const int64_t corners[] = {multiply_bounds(a.low, b.low), multiply_bounds(a.low, b.high),
                             multiply_bounds(a.high, b.low), multiply_bounds(a.high, b.high)};
  return {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
}

Interval add(Interval a, Interval b) {
  return {infinite(a.low) || infinite(b.low) ? INT64_MIN : ir::saturating_add(a.low, b.low),
          infinite(a.high) || infinite(b.high) ? INT64_MAX : ir::saturating_add(a.high, b.high)};
}

}  // namespace

std::vector<Monomial> monomials(const Dim& dim) {
  std::vector<Monomial> found;
  for (const ir::DimTerm& term : ir::terms_of(dim)) {
    Monomial monomial{term.coefficient, {}};
    for (const ir::DimAtomPointer& atom : term.factors)
      monomial.factors.push_back(ir::dim_from_term({1, {atom}}));
    found.push_back(std::move(monomial));
  }
  return found;
}

Dim to_dim(const Monomial& monomial) {
  Dim dim = monomial.coefficient;
  for (const Dim& factor : monomial.factors) dim = dim * factor;
  return dim;
}

Atom atom_of(const Dim& dim) {
  const ir::DimTerms terms = ir::terms_of(dim);
  AXRUN_ASSERT(terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1);
  const ir::DimAtom& atom = *terms[0].factors[0];
  constexpr Atom::Kind kinds[] = {Atom::Kind::name, Atom::Kind::floor_div, Atom::Kind::floor_mod,
                                  Atom::Kind::min, Atom::Kind::max};
  return {kinds[static_cast<size_t>(atom.kind)], atom.name, atom.arguments};
}

bool mentions(const Dim& dim, const std::string& name) {
  std::vector<std::string> names;
  dim.collect_symbols(names);
  return std::find(names.begin(), names.end(), name) != names.end();
}

Dim with_joined_digits(const Dim& dim) {
  const std::vector<Monomial> terms = monomials(dim);
  for (const Monomial& low : terms) {
    for (size_t k = 0; k < low.factors.size(); ++k) {
      const Atom digit = atom_of(low.factors[k]);
      if (digit.kind != Atom::Kind::floor_mod) continue;
      const auto replaced = [&](const Dim& factor, const Dim& coefficient) {
        Dim product = coefficient;
        for (size_t other = 0; other < low.factors.size(); ++other)
          product = product * (other == k ? factor : low.factors[other]);
        return product;
      };
      const Dim &whole = digit.arguments[0], &base = digit.arguments[1];
      const Dim high = replaced(floor_div(whole, base), Dim(low.coefficient) * base);
      const bool found =
          std::any_of(terms.begin(), terms.end(), [&](const Monomial& term) { return to_dim(term) == high; });
      if (found) return with_joined_digits(dim - high - to_dim(low) + replaced(whole, low.coefficient));
    }
  }
  return dim;
}

Linear linear_in(const Dim& dim, const std::string& name) {
  Linear linear;
  for (const Monomial& monomial : monomials(dim)) {
    if (!mentions(to_dim(monomial), name)) {
      linear.rest = linear.rest + to_dim(monomial);
      continue;
    }
    Dim coefficient = monomial.coefficient;
    int times = 0;
    for (const Dim& factor : monomial.factors) {
      if (factor == Dim::symbol(name)) {
        ++times;
      } else if (mentions(factor, name)) {
        return {};
      } else {
        coefficient = coefficient * factor;
      }
    }
    if (times != 1) return {};
    linear.coefficient = linear.coefficient + coefficient;
  }
  linear.exists = true;
  return linear;
}

Interval Facts::range(const Dim& dim) const {
  if (dim.is_constant()) return {dim.value(), dim.value()};
  Interval sum{0, 0};
  for (const Monomial& monomial : monomials(dim)) {
    Interval product{monomial.coefficient, monomial.coefficient};
    for (const Dim& factor : monomial.factors) {
      const Atom atom = atom_of(factor);
      Interval part;
      if (atom.kind == Atom::Kind::name) {
        const auto found = ranges_.find(atom.name);
        part = found == ranges_.end() ? Interval{0, INT64_MAX} : found->second;
        product = multiply(product, part);
        continue;
      }
      part = range(atom.arguments[0]);
      for (size_t k = 1; k < atom.arguments.size(); ++k) {
        const Interval other = range(atom.arguments[k]);
        switch (atom.kind) {
          case Atom::Kind::floor_div:
            if (other.low == other.high && other.low > 0) {
              part = {infinite(part.low) ? part.low : ir::floor_quotient(part.low, other.low),
                      infinite(part.high) ? part.high : ir::floor_quotient(part.high, other.low)};
            } else {
              part = {};
            }
            break;
          case Atom::Kind::floor_mod:
            part = other.low > 0 && !infinite(other.high) ? Interval{0, other.high - 1} : Interval{};
            break;
          case Atom::Kind::min:
            part = {std::min(part.low, other.low), std::min(part.high, other.high)};
            break;
          default:
            part = {std::max(part.low, other.low), std::max(part.high, other.high)};
            break;
        }
      }
      product = multiply(product, part);
    }
    sum = add(sum, product);
  }
  return sum;
}

bool Facts::is_nonnegative(const Dim& dim) const {
  if (range(dim).low >= 0) return true;
  return std::any_of(assumed_.begin(), assumed_.end(),
                     [&](const Dim& assumed) { return range(dim - assumed).low >= 0; });
}

Dim Facts::resolve(const Dim& dim) const {
  if (dim.is_constant()) return dim;
  bool is_polynomial = true;
  for (const ir::DimTerm& term : ir::terms_of(dim)) {
    for (const ir::DimAtomPointer& atom : term.factors)
      is_polynomial = is_polynomial && atom->kind == ir::DimAtom::Kind::symbol;
  }
  if (is_polynomial) return dim;
  Dim sum;
  for (const Monomial& monomial : monomials(dim)) {
    Dim product = monomial.coefficient;
    for (const Dim& factor : monomial.factors) {
      const Atom atom = atom_of(factor);
      if (atom.kind == Atom::Kind::name) {
        product = product * factor;
        continue;
      }
      ir::Dims arguments;
      for (const Dim& argument : atom.arguments) arguments.push_back(resolve(argument));
      Dim value = arguments[0];
      for (size_t k = 1; k < arguments.size(); ++k) {
        const Dim& other = arguments[k];
        switch (atom.kind) {
          case Atom::Kind::floor_div:
            value = floor_div(value, other);
            break;
          case Atom::Kind::floor_mod:
            value = floor_mod(value, other);
            break;
          case Atom::Kind::min:
            value = is_nonnegative(other - value)   ? value
                    : is_nonnegative(value - other) ? other
                                                    : min(value, other);
            break;
          default:
            value = is_nonnegative(other - value)   ? other
                    : is_nonnegative(value - other) ? value
                                                    : max(value, other);
            break;
        }
      }
      product = product * value;
    }
    sum = sum + product;
  }
  return sum;
}

}  // namespace axrun::jit
