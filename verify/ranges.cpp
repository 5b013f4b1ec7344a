#include "verify/ranges.h"

#include <algorithm>
#include <numeric>

namespace axrun::verify {
namespace {

using TermKind = Terms::Kind;

__int128 floor_of(__int128 a, __int128 b) { return a / b - (a % b < 0 ? 1 : 0); }  // b > 0
__int128 ceiling_of(__int128 a, __int128 b) { return -floor_of(-a, b); }

}  // namespace

/// Never beyond what the value is: bounds only widen.
Ranges::Range Ranges::limited(Range range) {
  if (range.low < -most) range.low = -unbounded;
  if (range.high > most) range.high = unbounded;
  range.low = std::min(range.low, most);
  range.high = std::max(range.high, -most);
  return range;
}

Ranges::Range Ranges::range_of_atom(Term atom) const {
  const Terms::Node& node = terms_.node(atom);
  const auto& a = node.arguments;
  Range range;
  switch (node.kind) {
    case TermKind::floor_div:
    case TermKind::floor_mod:
      if (terms_.is_literal(a[1])) {
        const Wide divisor = terms_.linear(a[1]).constant;
        const Range x = range_of(a[0]);
        const Wide low = x.low == -unbounded ? x.low : floor_of(x.low, divisor);
        const Wide high = x.high == unbounded ? x.high : floor_of(x.high, divisor);
        if (node.kind == TermKind::floor_div) {
          range = {low, high};
        } else {
          range = {0, divisor - 1};
          const bool bounded = low != -unbounded && high != unbounded;
          if (bounded && low == high) range = {x.low - low * divisor, x.high - low * divisor};
        }
      }
      break;
    case TermKind::minimum: {
      const Range x = range_of(a[0]), y = range_of(a[1]);
      range = {std::min(x.low, y.low), std::min(x.high, y.high)};
      break;
    }
    case TermKind::maximum: {
      const Range x = range_of(a[0]), y = range_of(a[1]);
      range = {std::max(x.low, y.low), std::max(x.high, y.high)};
      break;
    }
    case TermKind::choose: {
      const Range x = range_of(a[1]), y = range_of(a[2]);
      range = {std::min(x.low, y.low), std::max(x.high, y.high)};
      break;
    }
    case TermKind::lookup:
      range.low = 0;
      break;
    default:
      break;
  }
  const auto found = known_.find({{atom, 1}});
  if (found != known_.end()) {
    range.low = std::max(range.low, found->second.low);
    range.high = std::min(range.high, found->second.high);
  }
  return range;
}

/// Of a sum without one of its terms, from the ranges of the others.
Ranges::Range Ranges::range_of_terms(const Direction& direction, size_t without) const {
  Range sum{0, 0};
  for (size_t k = 0; k < direction.size(); ++k) {
    if (k == without) continue;
    const auto& [atom, coefficient] = direction[k];
    const Range x = range_of_atom(atom);
    const Wide c = coefficient;
    const bool low_open = (c > 0 ? x.low == -unbounded : x.high == unbounded);
    const bool high_open = (c > 0 ? x.high == unbounded : x.low == -unbounded);
    sum.low = low_open || sum.low == -unbounded ? -unbounded : sum.low + c * (c > 0 ? x.low : x.high);
    sum.high = high_open || sum.high == unbounded ? unbounded : sum.high + c * (c > 0 ? x.high : x.low);
    sum = limited(sum);
  }
  return sum;
}

namespace {

/// The direction of a sum and what it is multiplied by there; the factor is negative where the signs change.
std::pair<std::vector<std::pair<Term, int64_t>>, int64_t> direction_of(const LinearForm& form) {
  int64_t factor = 0;
  for (const auto& entry : form.coefficients) factor = std::gcd(factor, entry.second);
  if (form.coefficients.begin()->second < 0) factor = -factor;
  std::vector<std::pair<Term, int64_t>> direction(form.coefficients.begin(), form.coefficients.end());
  for (auto& entry : direction) entry.second /= factor;
  return {std::move(direction), factor};
}

}  // namespace

Ranges::Range Ranges::range_of(Term term) const {
  const LinearForm form = terms_.linear(term);
  if (form.coefficients.empty()) return {form.constant, form.constant};
  const auto [direction, factor] = direction_of(form);
  Range range = range_of_terms(direction, direction.size());
  const auto found = known_.find(direction);
  if (found != known_.end()) {
    range.low = std::max(range.low, found->second.low);
    range.high = std::min(range.high, found->second.high);
  }
  if (factor < 0) range = {-range.high, -range.low};
  const Wide size = factor < 0 ? -Wide{factor} : Wide{factor};
  if (range.low != -unbounded) range.low = range.low * size + form.constant;
  if (range.high != unbounded) range.high = range.high * size + form.constant;
  return limited(range);
}

void Ranges::meet_all(Term term) {
  const Terms::Node& node = terms_.node(term);
  if (node.kind != TermKind::sum && !terms_.is_boolean(term)) return meet(term);
  for (const auto& entry : node.linear.coefficients) meet(entry.first);
  for (const Term argument : node.arguments) meet_all(argument);
}

/// What is true of an atom whatever the facts are.
void Ranges::meet(Term atom) {
  if (!met_.insert(atom).second) return;
  const Terms::Node node = terms_.node(atom);  // a copy: more terms are made
  for (const Term argument : node.arguments) meet_all(argument);
  const auto& a = node.arguments;
  if (node.kind == TermKind::minimum || node.kind == TermKind::maximum) {
    const Range side = node.kind == TermKind::minimum ? Range{0, unbounded} : Range{-unbounded, 0};
    for (const Term argument : a) bound(terms_.subtract(argument, atom), side);
    extrema_.push_back(atom);
  }
  if (node.kind == TermKind::lookup) bound(terms_.subtract(a[0], atom), {1, unbounded});
  const bool divides = node.kind == TermKind::floor_div || node.kind == TermKind::floor_mod;
  if (!divides || !terms_.is_literal(a[1])) return;
  const Term quotient = terms_.floor_div(a[0], a[1]);
  const Term rest = terms_.subtract(a[0], terms_.multiply(a[1], quotient));
  if (node.kind == TermKind::floor_mod) {
    bound(terms_.subtract(rest, atom), {0, 0});
    for (const auto& entry : terms_.linear(quotient).coefficients) meet(entry.first);
    return;
  }
  bound(rest, {0, Wide{terms_.linear(a[1]).constant} - 1});
  for (const Term other : divisions_) {
    if (pairs_.size() >= most_pairs) break;
    meet_pair(atom, other);
    if (a[1] != terms_.node(other).arguments[1]) meet_pair(other, atom);
  }
  divisions_.push_back(atom);
}

/// That the sum is in the range.
void Ranges::bound(Term sum, Range range) {
  const LinearForm form = terms_.linear(sum);
  if (form.coefficients.empty()) {
    if (form.constant < range.low || form.constant > range.high) contradiction_ = true;
    return;
  }
  for (const auto& entry : form.coefficients) meet(entry.first);
  const auto [direction, factor] = direction_of(form);
  const Wide size = factor < 0 ? -Wide{factor} : Wide{factor};
  if (range.low != -unbounded) range.low = ceiling_of(range.low - form.constant, size);
  if (range.high != unbounded) range.high = floor_of(range.high - form.constant, size);
  if (factor < 0) {
    // Of the sum with its signs changed: -low and -high are its ends, rounded to the same side.
    std::swap(range.low, range.high);
    range = {range.low == unbounded ? -unbounded : -range.low,
             range.high == -unbounded ? unbounded : -range.high};
  }
  learn(direction, limited(range));
}

TermList Ranges::simpler() {
  std::map<Term, Term> values;
  for (const Term atom : met_) {
    const Range range = range_of_atom(atom);
    const bool fits = range.low > -most && range.low < most;
    if (fits && range.low == range.high)
      values.emplace(atom, terms_.integer(static_cast<int64_t>(range.low)));
  }
  TermList facts = units_;
  for (const TermList& literals : clauses_) facts.push_back(terms_.any(literals));
  if (!values.empty()) {
    for (Term& fact : facts) fact = terms_.substitute(fact, values);
  }
  return facts;
}

void Ranges::learn(const Direction& direction, Range range) {
  Range& known = known_[direction];
  if (range.low > known.low) {
    known.low = range.low;
    changed_ = true;
  }
  if (range.high < known.high) {
    known.high = range.high;
    changed_ = true;
  }
  if (known.low > known.high) contradiction_ = true;
}

void Ranges::add(Term fact) {
  const Terms::Node node = terms_.node(fact);  // a copy: more terms are made
  const auto& a = node.arguments;
  switch (node.kind) {
    case TermKind::truth:
      if (node.linear.constant == 0) contradiction_ = true;
      break;
    case TermKind::all:
      for (const Term one : a) add(one);
      break;
    case TermKind::any:
      clause(a);
      break;
    case TermKind::non_negative:
      units_.push_back(fact);
      bound(a[0], {0, unbounded});
      break;
    case TermKind::zero:
      units_.push_back(fact);
      bound(a[0], {0, 0});
      break;
    case TermKind::negation: {
      const Terms::Node inner = terms_.node(a[0]);
      if (inner.kind == TermKind::zero) {
        const Term x = inner.arguments[0];
        clause({terms_.at_least(x, terms_.integer(1)), terms_.at_least(terms_.integer(-1), x)});
      } else if (inner.kind == TermKind::any) {
        for (const Term one : inner.arguments) add(terms_.negation(one));
      } else if (inner.kind == TermKind::all) {
        TermList literals;
        for (const Term one : inner.arguments) literals.push_back(terms_.negation(one));
        clause(std::move(literals));
      }
      break;
    }
    default:
      break;
  }
}

void Ranges::clause(TermList literals) {
  for (const Term literal : literals) meet_all(literal);
  clauses_.push_back(std::move(literals));
  changed_ = true;
}

std::optional<bool> Ranges::truth_of(Term fact) const {
  const Terms::Node& node = terms_.node(fact);
  const auto& a = node.arguments;
  switch (node.kind) {
    case TermKind::truth:
      return node.linear.constant != 0;
    case TermKind::non_negative: {
      const Range x = range_of(a[0]);
      if (x.low >= 0) return true;
      if (x.high < 0) return false;
      return std::nullopt;
    }
    case TermKind::zero: {
      const Range x = range_of(a[0]);
      if (x.low > 0 || x.high < 0) return false;
      if (x.low == 0 && x.high == 0) return true;
      return std::nullopt;
    }
    case TermKind::negation: {
      const std::optional<bool> inner = truth_of(a[0]);
      if (inner) return !*inner;
      return std::nullopt;
    }
    case TermKind::all:
    case TermKind::any: {
      const bool ends = node.kind == TermKind::any;  // the value that decides
      bool open = false;
      for (const Term one : a) {
        const std::optional<bool> here = truth_of(one);
        if (here == ends) return ends;
        open = open || !here;
      }
      if (open) return std::nullopt;
      return !ends;
    }
    default:
      return std::nullopt;
  }
}

/// Every atom of a sum, from the range of the sum and those of the others.
void Ranges::settle_directions() {
  for (const auto& [direction, range] : known_) {  // learning adds directions of one atom at most
    if (direction.size() < 2) continue;
    for (size_t k = 0; k < direction.size() && !contradiction_; ++k) {
      const auto& [atom, coefficient] = direction[k];
      const Range others = range_of_terms(direction, k);
      const Wide size = coefficient < 0 ? -Wide{coefficient} : Wide{coefficient};
      Range here;  // of the atom times `size`
      if (range.low != -unbounded && others.high != unbounded) here.low = range.low - others.high;
      if (range.high != unbounded && others.low != -unbounded) here.high = range.high - others.low;
      if (coefficient < 0) here = {-here.high, -here.low};
      if (here.low != -unbounded) here.low = ceiling_of(here.low, size);
      if (here.high != unbounded) here.high = floor_of(here.high, size);
      if (here.low != -unbounded || here.high != unbounded) learn({{atom, 1}}, limited(here));
    }
  }
}

/// Of two quotients, by d and by a multiple m d: d q - m d r is the difference of what is divided, less that
/// of the remainders.
void Ranges::meet_pair(Term q, Term r) {
  const Terms::Node a = terms_.node(q), b = terms_.node(r);
  const int64_t d = terms_.linear(a.arguments[1]).constant, md = terms_.linear(b.arguments[1]).constant;
  if (md % d != 0) return;
  const auto rest = [&](Term quotient, const Terms::Node& node) {
    return terms_.subtract(node.arguments[0], terms_.multiply(node.arguments[1], quotient));
  };
  const Term difference = terms_.subtract(a.arguments[0], b.arguments[0]);
  const size_t atoms = terms_.linear(difference).coefficients.size();
  if (atoms >=
      terms_.linear(a.arguments[0]).coefficients.size() + terms_.linear(b.arguments[0]).coefficients.size())
    return;  // they have nothing in common
  pairs_.push_back({terms_.subtract(q, terms_.scale(md / d, r)), difference, rest(q, a), rest(r, b), d});
}

void Ranges::settle_pairs() {
  for (size_t k = 0; k < pairs_.size() && !contradiction_; ++k) {
    const Pair pair = pairs_[k];
    const Range all = range_of(pair.difference), less = range_of(pair.rest), more = range_of(pair.other_rest);
    Range here;
    if (all.low != -unbounded && less.high != unbounded && more.low != -unbounded)
      here.low = ceiling_of(all.low - less.high + more.low, pair.divisor);
    if (all.high != unbounded && less.low != -unbounded && more.high != unbounded)
      here.high = floor_of(all.high - less.low + more.high, pair.divisor);
    if (here.low != -unbounded || here.high != unbounded) bound(pair.quotients, limited(here));
  }
}

/// An extremum is the one of its arguments that is known to be.
void Ranges::settle_extrema() {
  for (size_t k = 0; k < extrema_.size() && !contradiction_; ++k) {
    const Terms::Node node = terms_.node(extrema_[k]);
    const Range first_less = range_of(terms_.subtract(node.arguments[0], node.arguments[1]));
    const bool minimum = node.kind == TermKind::minimum;
    if (first_less.high <= 0) bound(terms_.subtract(node.arguments[minimum ? 0 : 1], extrema_[k]), {0, 0});
    if (first_less.low >= 0) bound(terms_.subtract(node.arguments[minimum ? 1 : 0], extrema_[k]), {0, 0});
  }
}

/// What is divided, from its quotient.
void Ranges::settle_divisions() {
  for (size_t k = 0; k < divisions_.size() && !contradiction_; ++k) {
    const Terms::Node node = terms_.node(divisions_[k]);
    const Wide divisor = terms_.linear(node.arguments[1]).constant;
    Range range = range_of_atom(divisions_[k]);
    learn({{divisions_[k], 1}}, range);
    if (range.low != -unbounded) range.low *= divisor;
    if (range.high != unbounded) range.high = range.high * divisor + divisor - 1;
    bound(node.arguments[0], limited(range));
  }
}

void Ranges::settle_clauses() {
  std::vector<TermList> open;
  open.swap(clauses_);
  for (TermList& literals : open) {
    TermList left;
    bool holds = false;
    for (const Term literal : literals) {
      const std::optional<bool> here = truth_of(literal);
      holds = holds || here == true;
      if (!here) left.push_back(literal);
    }
    if (holds) continue;
    if (left.empty()) contradiction_ = true;
    if (left.size() == 1) add(left[0]);
    if (left.size() > 1) clauses_.push_back(std::move(left));
  }
}

void Ranges::settle() {
  constexpr int most_rounds = 6;  // ranges may shrink by 1 for ever
  for (int round = 0; round < most_rounds && !contradiction_; ++round) {
    changed_ = false;
    settle_directions();
    if (!contradiction_) settle_divisions();
    if (!contradiction_) settle_pairs();
    if (!contradiction_) settle_extrema();
    if (!contradiction_) settle_clauses();
    if (!changed_) return;
  }
}

bool Ranges::refuted(int depth, int& left) {
  settle();
  if (contradiction_) return true;
  if (depth == 0 || clauses_.empty()) return false;
  const auto shortest =
      std::min_element(clauses_.begin(), clauses_.end(),
                       [](const TermList& a, const TermList& b) { return a.size() < b.size(); });
  for (const Term literal : *shortest) {
    if (--left < 0) return false;
    Ranges one = *this;
    one.clauses_.erase(one.clauses_.begin() + (shortest - clauses_.begin()));
    one.add(literal);
    if (!one.refuted(depth - 1, left)) return false;
  }
  return true;
}

bool Ranges::contradict(int depth) {
  int left = 24;  // states
  return refuted(depth, left);
}

bool Ranges::true_somewhere(Term facts, const TermList& variables) {
  settle();
  if (contradiction_) return false;
  for (int trial = 0; trial < 6; ++trial) {
    std::map<Term, Term> values;
    for (size_t k = 0; k < variables.size(); ++k) {
      const Range range = range_of_atom(variables[k]);
      const Wide low = range.low != -unbounded ? range.low : std::min(Wide{0}, range.high);
      const Wide high = range.high != unbounded ? range.high : low + 100;
      const Wide wanted[] = {low,
                             high,
                             (low + high) / 2,
                             k % 2 == 0 ? low : high,
                             k % 2 == 0 ? high : low,
                             std::min(low + 1, high)};
      values[variables[k]] = terms_.integer(static_cast<int64_t>(wanted[trial]));
    }
    if (terms_.substitute(facts, values) == terms_.truth(true)) return true;
  }
  return false;
}

}  // namespace axrun::verify
