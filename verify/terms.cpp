#include "verify/terms.h"

#include <algorithm>
#include <cmath>

#include "ir/error.h"

namespace axrun::verify {
namespace {

constexpr double largest_magnitude = 4.6e18;  // 2^62

int64_t checked(bool overflow, int64_t value) {
  if (overflow) throw Error(Fault::unsupported, "a coefficient does not fit 64 bits");
  return value;
}
int64_t plus(int64_t a, int64_t b) {
  int64_t result;
  const bool overflow = __builtin_add_overflow(a, b, &result);
  return checked(overflow, result);
}
int64_t times(int64_t a, int64_t b) {
  int64_t result;
  const bool overflow = __builtin_mul_overflow(a, b, &result);
  return checked(overflow, result);
}
int64_t quotient(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0

size_t hash_of(const Terms::Node& node) {
  size_t hash = std::hash<std::string>{}(node.name) + static_cast<size_t>(node.kind);
  const auto mix = [&](int64_t value) {
    hash = (hash ^ static_cast<size_t>(value)) * 0x9E3779B97F4A7C15u + 1;
  };
  for (const Term argument : node.arguments) mix(argument.id);
  mix(node.linear.constant);
  for (const auto& [atom, coefficient] : node.linear.coefficients) {
    mix(atom.id);
    mix(coefficient);
  }
  return hash ^ hash >> 32;
}

}  // namespace

Term Terms::intern(Node node, double magnitude) {
  if (!(magnitude < largest_magnitude)) {
    throw Error(Fault::unsupported, "an index may not fit 64 bits at the largest sizes that are claimed");
  }
  const size_t hash = hash_of(node);
  const auto [first, last] = known_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    if (this->node(known->second) == node) return known->second;
  }
  const Term term{static_cast<int>(nodes_.size())};
  known_.emplace(hash, term);
  nodes_.push_back(std::move(node));
  magnitudes_.push_back(magnitude);
  return term;
}

LinearForm Terms::linear(Term term) const {
  const Node& n = node(term);
  if (n.kind == Kind::sum) return n.linear;
  return {0, {{term, 1}}};
}

bool Terms::is_literal(Term term) const {
  return node(term).kind == Kind::sum && node(term).linear.coefficients.empty();
}

Term Terms::from_linear(LinearForm linear) {
  std::erase_if(linear.coefficients, [](const auto& entry) { return entry.second == 0; });
  if (linear.constant == 0 && linear.coefficients.size() == 1 && linear.coefficients.begin()->second == 1)
    return linear.coefficients.begin()->first;
  double size = std::abs(static_cast<double>(linear.constant));
  for (const auto& [atom, coefficient] : linear.coefficients)
    size += std::abs(static_cast<double>(coefficient)) * magnitude(atom);
  Node sum;
  sum.linear = std::move(linear);
  return intern(std::move(sum), size);
}

Term Terms::integer(int64_t value) { return from_linear({value, {}}); }

Term Terms::variable(const std::string& name, double magnitude) {
  Node node;
  node.kind = Kind::variable;
  node.name = name + "#" + std::to_string(nodes_.size());
  return intern(std::move(node), magnitude);
}

Term Terms::combine(Term a, int64_t factor, Term b) {
  LinearForm sum = linear(a);
  const LinearForm other = linear(b);
  sum.constant = plus(sum.constant, times(factor, other.constant));
  for (const auto& [atom, coefficient] : other.coefficients) {
    int64_t& entry = sum.coefficients[atom];
    entry = plus(entry, times(factor, coefficient));
  }
  return from_linear(std::move(sum));
}

Term Terms::scale(int64_t factor, Term a) { return combine(integer(0), factor, a); }

Term Terms::atom(Kind kind, TermList arguments, double magnitude) {
  Node node;
  node.kind = kind;
  node.arguments = std::move(arguments);
  return intern(std::move(node), magnitude);
}

Term Terms::multiply(Term a, Term b) {
  if (is_literal(a)) return scale(node(a).linear.constant, b);
  if (is_literal(b)) return scale(node(b).linear.constant, a);
  // Distributed, so that a product has one form.
  const LinearForm left = linear(a), right = linear(b);
  Term result = integer(times(left.constant, right.constant));
  for (const auto& [x, p] : left.coefficients) result = combine(result, times(p, right.constant), x);
  for (const auto& [y, q] : right.coefficients) result = combine(result, times(q, left.constant), y);
  for (const auto& [x, p] : left.coefficients) {
    for (const auto& [y, q] : right.coefficients) {
      const Term product = atom(Kind::product, {std::min(x, y), std::max(x, y)}, magnitude(x) * magnitude(y));
      result = combine(result, times(p, q), product);
    }
  }
  return result;
}

std::pair<Term, Term> Terms::multiples(Term a, Term b) {
  const LinearForm divisor = linear(b);
  if (divisor.constant != 0 || divisor.coefficients.size() != 1) return {integer(0), a};
  const auto [size, factor] = *divisor.coefficients.begin();
  Term whole = integer(0), rest = a;
  for (const auto& [part, coefficient] : linear(a).coefficients) {
    if (factor <= 0 || coefficient % factor != 0) continue;
    Term other = integer(1);
    if (part != size) {
      const Node& product = node(part);
      if (product.kind != Kind::product) continue;
      const bool first = product.arguments[0] == size;
      if (!first && product.arguments[1] != size) continue;
      other = product.arguments[first ? 1 : 0];
    }
    whole = combine(whole, coefficient / factor, other);
    rest = combine(rest, -coefficient, part);
  }
  return {whole, rest};
}

Term Terms::divide(Kind kind, Term a, Term b) {
  const bool division = kind == Kind::floor_div;
  if (!is_literal(b)) {
    // floor((b x + r) / b) = x + floor(r / b).
    const auto [whole, rest] = multiples(a, b);
    if (rest == integer(0)) return division ? whole : rest;
    const Term left = atom(kind, {rest, b}, division ? magnitude(rest) : magnitude(b));
    return division ? add(whole, left) : left;
  }
  const int64_t divisor = node(b).linear.constant;
  if (divisor <= 0) throw Error(Fault::unsupported, "a division by a literal that is not positive");
  // floor((c x + r) / c) = x + floor(r / c), for every x and r.
  LinearForm whole, rest;
  const LinearForm form = linear(a);
  whole.constant = quotient(form.constant, divisor);
  rest.constant = form.constant - whole.constant * divisor;
  for (const auto& [atom, coefficient] : form.coefficients) {
    (coefficient % divisor == 0 ? whole : rest).coefficients[atom] =
        coefficient % divisor == 0 ? coefficient / divisor : coefficient;
  }
  const bool exact = rest.coefficients.empty();
  if (exact) return division ? from_linear(std::move(whole)) : integer(rest.constant);
  const Term dividend = from_linear(std::move(rest));
  if (!division) return atom(kind, {dividend, b}, static_cast<double>(divisor));
  return add(from_linear(std::move(whole)), atom(kind, {dividend, b}, magnitude(dividend)));
}

Term Terms::floor_div(Term a, Term b) { return divide(Kind::floor_div, a, b); }
Term Terms::floor_mod(Term a, Term b) { return divide(Kind::floor_mod, a, b); }

Term Terms::minimum(Term a, Term b) {
  const Term difference = subtract(a, b);
  if (is_literal(difference)) return node(difference).linear.constant <= 0 ? a : b;
  return atom(Kind::minimum, {std::min(a, b), std::max(a, b)}, std::max(magnitude(a), magnitude(b)));
}

Term Terms::maximum(Term a, Term b) {
  const Term difference = subtract(a, b);
  if (is_literal(difference)) return node(difference).linear.constant >= 0 ? a : b;
  return atom(Kind::maximum, {std::min(a, b), std::max(a, b)}, std::max(magnitude(a), magnitude(b)));
}

Term Terms::choose(Term condition, Term a, Term b) {
  if (condition == truth(true) || a == b) return a;
  if (condition == truth(false)) return b;
  return atom(Kind::choose, {condition, a, b}, std::max(magnitude(a), magnitude(b)));
}

Term Terms::lookup(int input, Term extent, const TermList& element) {
  Node node;
  node.kind = Kind::lookup;
  node.name = std::to_string(input);
  node.arguments = {extent};
  node.arguments.insert(node.arguments.end(), element.begin(), element.end());
  return intern(std::move(node), magnitude(extent));
}

Term Terms::truth(bool value) {
  Node node;
  node.kind = Kind::truth;
  node.linear.constant = value ? 1 : 0;
  return intern(std::move(node), 0);
}

Term Terms::at_least(Term a, Term b) {
  const Term difference = subtract(a, b);
  if (is_literal(difference)) return truth(node(difference).linear.constant >= 0);
  return atom(Kind::non_negative, {difference}, 0);
}

Term Terms::equal(Term a, Term b) {
  Term difference = subtract(a, b);
  if (is_literal(difference)) return truth(node(difference).linear.constant == 0);
  if (linear(difference).coefficients.begin()->second < 0) difference = scale(-1, difference);
  return atom(Kind::zero, {difference}, 0);
}

Term Terms::negation(Term a) {
  const Node& n = node(a);
  if (n.kind == Kind::truth) return truth(n.linear.constant == 0);
  if (n.kind == Kind::negation) return n.arguments[0];
  // not (x >= 0)  is  -x - 1 >= 0
  if (n.kind == Kind::non_negative) return at_least(integer(-1), n.arguments[0]);
  return atom(Kind::negation, {a}, 0);
}

Term Terms::all(const TermList& list) {
  TermList kept;
  for (const Term term : list) {
    if (term == truth(false)) return term;
    if (node(term).kind == Kind::all) {
      kept.insert(kept.end(), node(term).arguments.begin(), node(term).arguments.end());
    } else if (term != truth(true)) {
      kept.push_back(term);
    }
  }
  if (kept.empty()) return truth(true);
  return kept.size() == 1 ? kept[0] : atom(Kind::all, std::move(kept), 0);
}

Term Terms::any(const TermList& list) {
  TermList kept;
  for (const Term term : list) {
    if (term == truth(true)) return term;
    if (term != truth(false)) kept.push_back(term);
  }
  if (kept.empty()) return truth(false);
  return kept.size() == 1 ? kept[0] : atom(Kind::any, std::move(kept), 0);
}

Term Terms::iff(Term a, Term b) {
  if (a == b) return truth(true);
  return any({all({a, b}), all({negation(a), negation(b)})});
}

Term Terms::same(const TermList& a, const TermList& b) {
  AXRUN_ASSERT(a.size() == b.size());
  TermList equalities;
  for (size_t k = 0; k < a.size(); ++k) equalities.push_back(equal(a[k], b[k]));
  return all(equalities);
}

Term Terms::different(const TermList& a, const TermList& b) { return negation(same(a, b)); }

Term Terms::before(const TermList& a, const TermList& b, size_t from, size_t to) {
  Term result = truth(false);
  for (size_t k = to; k-- > from;) result = any({less(a[k], b[k]), all({equal(a[k], b[k]), result})});
  return result;
}

Term Terms::substitute(Term term, const std::map<Term, Term>& values) {
  const auto found = values.find(term);
  if (found != values.end()) return found->second;
  const Node n = node(term);  // a copy: the table grows below
  if (n.kind == Kind::variable) return term;
  if (n.kind == Kind::sum) {
    Term result = integer(n.linear.constant);
    for (const auto& [atom, coefficient] : n.linear.coefficients)
      result = combine(result, coefficient, substitute(atom, values));
    return result;
  }
  TermList a;
  for (const Term argument : n.arguments) a.push_back(substitute(argument, values));
  switch (n.kind) {
    case Kind::floor_div:
      return floor_div(a[0], a[1]);
    case Kind::floor_mod:
      return floor_mod(a[0], a[1]);
    case Kind::minimum:
      return minimum(a[0], a[1]);
    case Kind::maximum:
      return maximum(a[0], a[1]);
    case Kind::product:
      return multiply(a[0], a[1]);
    case Kind::choose:
      return choose(a[0], a[1], a[2]);
    case Kind::lookup:
      return lookup(std::stoi(n.name), a[0], TermList(a.begin() + 1, a.end()));
    case Kind::non_negative:
      return at_least(a[0], integer(0));
    case Kind::zero:
      return equal(a[0], integer(0));
    case Kind::negation:
      return negation(a[0]);
    case Kind::all:
      return all(a);
    case Kind::any:
      return any(a);
    default:
      return term;
  }
}

bool Terms::mentions(Term term, Term variable) const {
  if (term == variable) return true;
  const Node& n = node(term);
  for (const auto& entry : n.linear.coefficients) {
    if (mentions(entry.first, variable)) return true;
  }
  return std::any_of(n.arguments.begin(), n.arguments.end(),
                     [&](Term argument) { return mentions(argument, variable); });
}

std::string Terms::text(Term term) const {
  const Node& n = node(term);
  if (n.kind == Kind::variable) return n.name;
  if (n.kind == Kind::truth) return n.linear.constant != 0 ? "true" : "false";
  if (n.kind == Kind::sum) {
    std::string out;
    for (const auto& [atom, coefficient] : n.linear.coefficients) {
      out += out.empty() ? "" : " + ";
      out += (coefficient == 1 ? "" : std::to_string(coefficient) + "*") + text(atom);
    }
    if (n.linear.constant != 0 || out.empty())
      out += (out.empty() ? "" : " + ") + std::to_string(n.linear.constant);
    return out;
  }
  constexpr const char* names[] = {"",       "", "div", "mod", "min", "max", "product", "choose",
                                   "lookup", "", ">=0", "==0", "not", "all", "any"};
  std::string out = std::string(names[static_cast<size_t>(n.kind)]) + "(";
  for (size_t k = 0; k < n.arguments.size(); ++k) out += (k == 0 ? "" : ", ") + text(n.arguments[k]);
  return out + ")";
}

}  // namespace axrun::verify
