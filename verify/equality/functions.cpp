// Functions of sums, with the laws that make equal ones look alike: e to a sum is a product, a logarithm of a
// product a sum, what is common to all terms leaves roots, reciprocals and maxima, odd functions are of what
// has a positive sign in front. Conditions that are no data leave every function.
#include <algorithm>
#include <cmath>

#include "ir/arithmetic.h"
#include "verify/equality/sum.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {
namespace {

using ir::ElementType;
using ir::ScalarOp;
using Kind = Atom::Kind;

constexpr size_t most_cases = 16;
constexpr int most_power = 8;

bool natural(const Rational& power) { return power.get_den() == 1 && power >= 0; }

/// x to the power, where that is rational.
std::optional<Rational> rational_power(const Rational& x, const Rational& power) {
  if (x == 0) return std::nullopt;
  if (!power.get_num().fits_sint_p() || !power.get_den().fits_sint_p()) return std::nullopt;
  const long n = power.get_num().get_si(), d = power.get_den().get_si();
  if (std::abs(n) > 64 || d > 8 || (d > 1 && x < 0)) return std::nullopt;
  mpz_class top, bottom;
  if (mpz_root(top.get_mpz_t(), x.get_num().get_mpz_t(), static_cast<unsigned long>(d)) == 0)
    return std::nullopt;
  if (mpz_root(bottom.get_mpz_t(), x.get_den().get_mpz_t(), static_cast<unsigned long>(d)) == 0)
    return std::nullopt;
  if (n < 0) std::swap(top, bottom);
  mpz_class p, q;
  mpz_pow_ui(p.get_mpz_t(), top.get_mpz_t(), static_cast<unsigned long>(std::abs(n)));
  mpz_pow_ui(q.get_mpz_t(), bottom.get_mpz_t(), static_cast<unsigned long>(std::abs(n)));
  Rational result(p, q);
  result.canonicalize();
  return result;
}

Atom made(Kind kind, ElementType type, std::vector<Sum> bodies, int number = 0) {
  Atom atom;
  atom.kind = kind;
  atom.type = type;
  atom.number = number;
  for (Sum& body : bodies) atom.branches.push_back({{}, {}, std::move(body)});
  return atom;
}

bool is_odd(ScalarOp op) {
  switch (op) {
    case ScalarOp::tanh:
    case ScalarOp::erf:
    case ScalarOp::sin:
    case ScalarOp::tan:
    case ScalarOp::asin:
    case ScalarOp::atan:
    case ScalarOp::sinh:
    case ScalarOp::asinh:
    case ScalarOp::atanh:
    case ScalarOp::sign:
    case ScalarOp::truncate:
    case ScalarOp::round_even:
      return true;
    default:
      return false;
  }
}

}  // namespace

Sum Algebra::product_of_factors(ElementType type, const std::vector<Factor>& factors) {
  return closed(type, Piece{1, {}, {}, factors});
}

// --- Cases.

Sum Algebra::assumed(const Sum& a, Term condition, const TermList& facts) {
  Sum sum{a.type, {}};
  for (Piece piece : a.pieces) {
    bool possible = true;
    if (piece.variables.empty()) {
      TermList kept;
      for (const Term fact : piece.domain) {
        if (fact == condition || implied(facts, fact)) continue;
        TermList with = facts;
        with.push_back(fact);
        if (fact == terms_.negation(condition) || impossible(with)) possible = false;
        kept.push_back(fact);
      }
      piece.domain = kept;
    }
    if (possible) put(sum.pieces, std::move(piece), a.type);
  }
  return sum;
}

std::vector<std::pair<TermList, std::vector<Sum>>> Algebra::cases(const std::vector<Sum>& values) {
  std::vector<std::pair<TermList, std::vector<Sum>>> done, open = {{{}, values}};
  while (!open.empty()) {
    const auto [conditions, here] = open.back();
    open.pop_back();
    if (done.size() + open.size() > most_cases) throw Unproved{"a function has too many cases"};
    std::optional<Term> condition;
    for (const Sum& value : here) {
      for (const Piece& piece : value.pieces) {
        if (!condition && piece.variables.empty() && !piece.domain.empty()) condition = piece.domain[0];
      }
    }
    if (!condition) {
      done.emplace_back(conditions, here);
      continue;
    }
    for (const Term now : {terms_.negation(*condition), *condition}) {
      TermList with = conditions;
      with.push_back(now);
      TermList about = with;
      for (const Sum& value : here) {
        for (const Piece& piece : value.pieces) {
          if (piece.variables.empty()) about.insert(about.end(), piece.domain.begin(), piece.domain.end());
        }
      }
      TermList facts = facts_about(about);
      facts.insert(facts.end(), with.begin(), with.end());
      if (impossible(facts)) continue;
      std::vector<Sum> then;
      for (const Sum& value : here) then.push_back(assumed(value, now, facts));
      open.emplace_back(with, std::move(then));
    }
  }
  return done;
}

template <typename Function>
Sum Algebra::by_cases(ElementType type, const std::vector<Sum>& values, const Function& function) {
  const auto all = cases(values);
  Sum sum{type, {}};
  for (const auto& [conditions, here] : all) {
    const Sum value = function(here);
    sum = add(sum, conditions.empty() ? value : guarded(value, terms_.all(conditions)));
  }
  return sum;
}

// --- What all terms have in common.

bool Algebra::leads_negative(const Sum& a) const {
  size_t best = 0;
  bool negative = false;
  for (const Piece& piece : a.pieces) {
    const size_t shape = shape_of(piece);
    if (shape < best) continue;
    // Where two have one shape and other signs nothing is said.
    negative = shape == best ? negative && piece.coefficient < 0 : piece.coefficient < 0;
    best = shape;
  }
  return negative;
}

std::pair<Sum, Sum> Algebra::content(const Sum& a, bool positive) {
  if (a.pieces.empty()) return {number(a.type, 1), a};
  mpz_class top = 0, bottom = 1;
  std::map<int, Rational> common;
  bool first = true;
  for (const Piece& piece : a.pieces) {
    top = gcd(top, mpz_class(piece.coefficient.get_num()));
    bottom = lcm(bottom, mpz_class(piece.coefficient.get_den()));
    std::map<int, Rational> here;
    for (const Factor& factor : piece.factors) {
      const TermList& free = atom(factor.atom).free;
      const bool bound = std::any_of(piece.variables.begin(), piece.variables.end(),
                                     [&](Term v) { return std::binary_search(free.begin(), free.end(), v); });
      if (!bound) here[factor.atom] = factor.power;
    }
    for (const auto& entry : here) common.emplace(entry.first, first ? entry.second : Rational(0));
    for (auto& [id, power] : common) {
      const auto found = here.find(id);
      const Rational mine = found == here.end() ? Rational(0) : found->second;
      if (mine < power) power = mine;
    }
    first = false;
  }
  std::vector<Factor> factors, inverse;
  for (const auto& [id, power] : common) {
    if (power == 0) continue;
    if (positive && sign_of_power({id, power}) != Sign::positive) continue;
    factors.push_back({id, power});
    inverse.push_back({id, -power});
  }
  Rational scale(top, bottom);
  scale.canonicalize();
  if (!positive && leads_negative(a)) scale = -scale;
  Sum rest{a.type, {}};
  for (Piece piece : a.pieces) {
    piece.coefficient /= scale;
    // The factors bind nothing and mention nothing that the piece binds: no name changes.
    piece.factors.insert(piece.factors.end(), inverse.begin(), inverse.end());
    rest = add(rest, closed(a.type, std::move(piece)));
  }
  return {scaled(product_of_factors(a.type, factors), scale), rest};
}

// --- Powers.

Sum Algebra::power(const Sum& base, const Rational& exponent) {
  if (exponent == 1) return base;
  if (exponent == 0) return number(base.type, 1);
  return by_cases(base.type, {base},
                  [&](const std::vector<Sum>& here) { return power_of_case(here[0], exponent); });
}

Sum Algebra::power_of_case(const Sum& base, const Rational& exponent) {
  if (base.pieces.empty()) {
    if (exponent < 0) throw Unproved{"a division by 0"};
    return base;
  }
  if (natural(exponent) && exponent <= most_power) {
    Sum product = number(base.type, 1);
    for (int n = 0; n < exponent; ++n) product = multiply(product, base);
    return product;
  }
  const bool whole = exponent.get_den() == 1;
  const bool single = base.pieces.size() == 1 && base.pieces[0].variables.empty();
  Sum outside = number(base.type, 1), inside = base;
  if (single) {
    Piece rest = base.pieces[0];
    std::vector<Factor> kept, out;
    for (const Factor& factor : rest.factors) {
      (whole || sign_of_power(factor) == Sign::positive ? out : kept).push_back(factor);
    }
    for (Factor& factor : out) factor.power *= exponent;
    rest.factors = kept;
    // Of what is left, a single atom is its own root; a square is no atom.
    if (!whole && kept.size() == 1 && kept[0].power == 1) {
      const Rational magnitude = abs(rest.coefficient);
      const auto root = rational_power(magnitude, exponent);
      if (rest.coefficient > 0 && root) {
        out.push_back({kept[0].atom, exponent});
        return scaled(product_of_factors(base.type, out), *root);
      }
    }
    outside = product_of_factors(base.type, out);
    inside = {base.type, {rest}};
  } else {
    const auto [common, rest] = content(base, !whole);
    if (!(common == number(base.type, 1)))
      return multiply(power_of_case(common, exponent), power_of_case(rest, exponent));
  }
  if (inside.pieces.size() == 1 && inside.pieces[0].variables.empty()) {
    const Rational coefficient = inside.pieces[0].coefficient;
    if (const auto scale = rational_power(coefficient, exponent)) {
      outside = scaled(outside, *scale);
      inside.pieces[0].coefficient = 1;
    } else if (!inside.pieces[0].factors.empty() && coefficient > 0) {
      outside = multiply(outside, power_of_case(number(base.type, coefficient), exponent));
      inside.pieces[0].coefficient = 1;
    }
    if (inside.pieces[0].factors.empty() && inside.pieces[0].coefficient == 1) return outside;
  }
  const int id = intern(made(Kind::group, base.type, {inside}));
  return multiply(outside, product_of_factors(base.type, {{id, exponent}}));
}

// --- Exponentials and logarithms.

Sum Algebra::exponential(const Sum& of) {
  return by_cases(of.type, {of}, [&](const std::vector<Sum>& here) { return exponential_of_case(here[0]); });
}

Sum Algebra::exponential_of_case(const Sum& of) {
  std::vector<Factor> factors;
  Sum powers = number(of.type, 1);
  for (Piece piece : of.pieces) {
    const Rational coefficient = piece.coefficient;
    piece.coefficient = 1;
    const bool plain = piece.variables.empty() && piece.factors.size() == 1;
    if (plain && coefficient < 0 && atom(piece.factors[0].atom).kind == Kind::infinity)
      return number(of.type, 0);
    if (piece.variables.empty() && piece.factors.size() == 1 && piece.factors[0].power == 1) {
      const Atom& inner = atom(piece.factors[0].atom);
      if (inner.kind == Kind::call && inner.number == static_cast<int>(ScalarOp::log)) {
        powers = multiply(powers, power(inner.branches[0].body, coefficient));
        continue;
      }
    }
    factors.push_back({intern(made(Kind::exponential, of.type, {Sum{of.type, {piece}}})), coefficient});
  }
  return multiply(powers, product_of_factors(of.type, factors));
}

Sum Algebra::logarithm(const Sum& of) {
  return by_cases(of.type, {of}, [&](const std::vector<Sum>& here) { return logarithm_of_case(here[0]); });
}

Sum Algebra::logarithm_of_case(const Sum& of) {
  if (of.pieces.empty()) throw Unproved{"a logarithm of 0"};
  auto [common, rest] = content(of, true);
  Sum result{of.type, {}};
  std::vector<Factor> kept;
  for (const Factor& factor : common.pieces[0].factors) {
    const Atom& a = atom(factor.atom);
    const Sum one = a.kind == Kind::exponential
                        ? a.branches[0].body
                        : of_atom(made(Kind::call, of.type, {product_of_factors(of.type, {{factor.atom, 1}})},
                                       static_cast<int>(ScalarOp::log)));
    result = add(result, scaled(one, factor.power));
  }
  const Rational scale = common.pieces[0].coefficient;
  const Sum* inside = &rest;
  const Sum magnitude = number(of.type, scale);
  if (const Rational* value = constant(rest); value != nullptr && *value < 0)
    throw Unproved{"a logarithm of less than 0"};
  for (const Sum* part : {inside, &magnitude}) {
    const Rational* value = constant(*part);
    if (value != nullptr && *value == 1) continue;
    result = add(result, of_atom(made(Kind::call, of.type, {*part}, static_cast<int>(ScalarOp::log))));
  }
  return result;
}

// --- Piecewise functions.

Sum Algebra::absolute(const Sum& of) {
  return by_cases(of.type, {of}, [&](const std::vector<Sum>& here) { return absolute_of_case(here[0]); });
}

Sum Algebra::absolute_of_case(const Sum& of) {
  if (of.pieces.empty() || sign(of) != Sign::unknown) return of;
  if (sign(scaled(of, -1)) != Sign::unknown) return scaled(of, -1);
  const bool single = of.pieces.size() == 1 && of.pieces[0].variables.empty();
  const auto of_rest = [&](const Sum& rest) {
    return of_atom(made(Kind::call, of.type, {rest}, static_cast<int>(ScalarOp::abs)));
  };
  if (!single) {
    const auto [common, rest] = content(of, false);
    if (rest == of) return of_rest(of);
    return multiply(absolute_of_case(common), of_rest(rest));
  }
  Sum product = number(of.type, abs(of.pieces[0].coefficient));
  for (const Factor& factor : of.pieces[0].factors) {
    if (sign_of_power(factor) != Sign::unknown) {
      product = multiply(product, product_of_factors(of.type, {factor}));
    } else {
      product =
          multiply(product, power(of_rest(product_of_factors(of.type, {{factor.atom, 1}})), factor.power));
    }
  }
  return product;
}

Sum Algebra::positive(const Sum& of) {
  return by_cases(ElementType::boolean, {of}, [&](const std::vector<Sum>& here) {
    const Sum& value = here[0];
    if (value.pieces.empty()) return number(ElementType::boolean, 0);
    if (sign(value) == Sign::positive && !may_vanish(value)) return number(ElementType::boolean, 1);
    if (sign(scaled(value, -1)) != Sign::unknown) return number(ElementType::boolean, 0);
    Sum rest = content(value, true).second;
    if (mentions_exponentials(value) && !mentions_exponentials(rest)) rest = value;
    return of_atom(made(Kind::step, ElementType::boolean, {std::move(rest)}));
  });
}

// --- The others.

Sum Algebra::call(ScalarOp op, ElementType type, const std::vector<Sum>& arguments) {
  return by_cases(type, arguments,
                  [&](const std::vector<Sum>& here) { return call_of_case(op, type, here); });
}

Sum Algebra::call_of_case(ScalarOp op, ElementType type, std::vector<Sum> arguments) {
  const bool real = ir::is_float(type) && arguments.size() == 1;
  if (real && arguments[0].pieces.empty() && is_odd(op)) return arguments[0];
  if (real && (is_odd(op) || op == ScalarOp::cos || op == ScalarOp::cosh)) {
    const Sum& of = arguments[0];
    const bool negative = leads_negative(of);
    if (negative) {
      const Sum value = call_of_case(op, type, {scaled(of, -1)});
      return is_odd(op) ? scaled(value, -1) : value;
    }
  }
  if (real && expand_hyperbolic) {
    const Sum one = number(type, 1);
    const Sum up = exponential(arguments[0]), down = exponential(scaled(arguments[0], -1));
    if (op == ScalarOp::sinh) return scaled(subtract(up, down), Rational(1, 2));
    if (op == ScalarOp::cosh) return scaled(add(up, down), Rational(1, 2));
    if (op == ScalarOp::tanh) return multiply(subtract(up, down), power(add(up, down), -1));
  }
  return of_atom(made(Kind::call, type, std::move(arguments), static_cast<int>(op)));
}

}  // namespace axrun::verify::equality
