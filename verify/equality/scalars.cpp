// What is left of a difference, without variables, as a statement about real numbers: common denominators are
// multiplied out, and Z3 is asked whether maxima, absolute values, conditions and roots can make it other
// than 0. Every other atom is any number.
#include <z3++.h>

#include <algorithm>

#include "verify/checks.h"
#include "verify/equality/same.h"

namespace axrun::verify::equality {
namespace {

using Kind = Atom::Kind;

constexpr unsigned resources = 400'000, milliseconds = 2000;
constexpr size_t most_scalar_atoms = 24, deepest_scalar = 4;

/// Sums as real terms of Z3, with what is true of their atoms.
class Reals {
 public:
  explicit Reals(Algebra& algebra) : algebra_(algebra), solver_(z3::solver(context_, "QF_NRA")) {}

  /// Whether the sum is 0 whatever the atoms are.
  bool zero(const Sum& a) {
    z3::expr value = sum(a, deepest_scalar);
    if (too_large_) return false;
    z3::params limits(context_);
    limits.set("rlimit", resources);
    limits.set("timeout", milliseconds);
    solver_.set(limits);
    // The axioms alone must leave a value for everything.
    if (solver_.check() != z3::sat && checks::on("equality.consistent")) return false;
    solver_.add(value != 0);
    return solver_.check() == z3::unsat;
  }

 private:
  z3::expr number(const Rational& value) { return context_.real_val(value.get_str().c_str()); }

  z3::expr sum(const Sum& a, size_t depth) {
    z3::expr total = number(0);
    for (const Piece& piece : a.pieces) {
      if (!piece.variables.empty() || !piece.domain.empty()) {  // one number, whatever it is
        total = total + unknown("piece" + std::to_string(pieces_.size()), piece);
        continue;
      }
      z3::expr product = number(piece.coefficient);
      for (const Factor& factor : piece.factors) product = product * power(factor, depth);
      total = total + product;
    }
    return total;
  }

  z3::expr unknown(const std::string& name, const Piece& piece) {
    Piece shape = piece;
    shape.coefficient = 1;
    for (const auto& [known, value] : pieces_) {
      if (known == shape) return number(piece.coefficient) * value;
    }
    pieces_.emplace_back(shape, context_.real_const(name.c_str()));
    return number(piece.coefficient) * pieces_.back().second;
  }

  z3::expr power(const Factor& factor, size_t depth) {
    const mpz_class denominator = factor.power.get_den();
    if (denominator > 8 || abs(factor.power.get_num()) > 8) {
      too_large_ = true;
      return number(0);
    }
    z3::expr base = atom(factor.atom, depth);
    if (denominator != 1) {
      const std::string name = "root" + std::to_string(factor.atom) + "_" + denominator.get_str();
      z3::expr root = context_.real_const(name.c_str());
      z3::expr product = number(1);
      for (mpz_class n = 0; n < denominator; ++n) product = product * root;
      solver_.add(root >= 0 && product == base);
      base = root;
    }
    z3::expr product = number(1);
    const long count = factor.power.get_num().get_si();
    for (long n = 0; n < std::abs(count); ++n) product = product * base;
    if (count >= 0) return product;
    z3::expr inverse = context_.real_const(("inverse" + std::to_string(inverses_++)).c_str());
    solver_.add(inverse * product == 1);
    return inverse;
  }

  z3::expr atom(int id, size_t depth) {
    const auto found = atoms_.find(id);
    if (found != atoms_.end()) return found->second;
    z3::expr value = context_.real_const(("atom" + std::to_string(id)).c_str());
    atoms_.emplace(id, value);
    if (atoms_.size() > most_scalar_atoms) too_large_ = true;
    const Algebra::Sign sign = algebra_.sign_of_atom(id);
    if (sign == Algebra::Sign::positive) solver_.add(value > 0);
    if (sign == Algebra::Sign::not_negative) solver_.add(value >= 0);
    if (depth == 0 || too_large_) return value;
    const Atom& a = algebra_.atom(id);
    const bool plain = std::all_of(a.branches.begin(), a.branches.end(), [](const Branch& branch) {
      return branch.variables.empty() && branch.domain.empty();
    });
    if (!plain || a.branches.empty()) return value;
    std::vector<z3::expr> bodies;
    const auto op = static_cast<ir::ScalarOp>(a.number);
    const bool magnitude = a.kind == Kind::call && op == ir::ScalarOp::abs;
    const bool real = ir::is_float(a.type) || a.kind == Kind::step;
    const bool step = a.kind == Kind::step && !algebra_.mentions_exponentials(a.branches[0].body);
    const bool known = a.kind == Kind::maximum || step || a.kind == Kind::group || magnitude;
    if (!real || !known) {
      if (a.type == ir::ElementType::boolean) solver_.add(value == 0 || value == 1);
      return value;
    }
    for (const Branch& branch : a.branches) bodies.push_back(sum(branch.body, depth - 1));
    if (a.kind == Kind::group) solver_.add(value == bodies[0]);
    if (a.kind == Kind::step) solver_.add(value == z3::ite(bodies[0] > 0, number(1), number(0)));
    if (magnitude) solver_.add(value == z3::ite(bodies[0] >= 0, bodies[0], -bodies[0]));
    if (a.kind == Kind::maximum) {
      z3::expr most = bodies[0];
      for (size_t k = 1; k < bodies.size(); ++k) most = z3::ite(bodies[k] > most, bodies[k], most);
      solver_.add(value == most);
    }
    return value;
  }

  Algebra& algebra_;
  z3::context context_;
  z3::solver solver_;
  std::map<int, z3::expr> atoms_;
  std::vector<std::pair<Piece, z3::expr>> pieces_;
  int inverses_ = 0;
  bool too_large_ = false;
};

}  // namespace

/// Multiplied by what is divided by, which is not 0.
Sum Same::without_denominators(const Sum& a) {
  std::map<int, Rational> least;
  for (const Piece& piece : a.pieces) {
    for (const Factor& factor : piece.factors) {
      const bool divides = factor.power.get_den() == 1 && factor.power < 0 && is_outside(piece, factor);
      if (divides && factor.power < least[factor.atom]) least[factor.atom] = factor.power;
    }
  }
  std::vector<Factor> factors;
  for (const auto& [id, power] : least) {
    if (power < 0) factors.push_back({id, -power});
  }
  if (factors.empty()) return a;
  Sum product{a.type, {}};
  for (Piece piece : a.pieces) {
    piece.factors.insert(piece.factors.end(), factors.begin(), factors.end());
    product = algebra_.add(product, algebra_.closed(a.type, std::move(piece)));
  }
  return product;
}

/// Atoms that are equal wherever the facts hold as one of them.
Sum Same::unified(const TermList& facts, const Sum& a, std::map<int, int>& chosen) {
  Sum sum{a.type, {}};
  for (Piece piece : a.pieces) {
    for (Factor& factor : piece.factors) {
      if (!is_outside(piece, factor)) continue;
      const auto known = chosen.find(factor.atom);
      if (known == chosen.end()) {
        int representative = factor.atom;
        for (const auto& [other, one] : chosen) {
          if (other == one && same_atom(facts, factor.atom, other)) representative = one;
        }
        chosen[factor.atom] = representative;
      }
      factor.atom = chosen[factor.atom];
    }
    sum = algebra_.add(sum, algebra_.closed(a.type, std::move(piece)));
  }
  return sum;
}

bool Same::zero_by_cases(const TermList& facts, Sum difference) {
  if (difference.pieces.size() > 40) return false;
  std::map<int, int> chosen;
  // Conditions that are no data: their cases one by one.
  const auto all = algebra_.cases({difference});
  for (const auto& [conditions, here] : all) {
    TermList known = facts;
    known.insert(known.end(), conditions.begin(), conditions.end());
    if (!conditions.empty() && algebra_.impossible(known)) continue;
    chosen.clear();
    Sum rest = unified(known, here[0], chosen);
    for (int round = 0; round < 3 && !rest.pieces.empty(); ++round) {
      const Sum next = unified(known, without_denominators(rest), chosen);
      if (next == rest) break;
      rest = next;
    }
    if (rest.pieces.empty()) continue;
    const bool bound = std::any_of(rest.pieces.begin(), rest.pieces.end(),
                                   [](const Piece& piece) { return !piece.variables.empty(); });
    if (bound || rest.pieces.size() > 60) {
      if (depth_ > 3) return false;
      ++depth_;
      const bool answer = bound && vanishes(known, rest);
      --depth_;
      if (!answer) return false;
      continue;
    }
    try {
      solver_.check_time();
      if (!Reals(algebra_).zero(rest)) return false;
    } catch (const z3::exception&) {
      return false;
    }
  }
  return true;
}

}  // namespace axrun::verify::equality
