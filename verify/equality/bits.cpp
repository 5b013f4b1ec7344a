// What is left of a difference of integers, or of truth values about integers, without variables, as a
// statement about bits, every operation at the width of its type: Z3 is asked whether masks, shifts,
// comparisons, divisions, casts and saturation can make it other than 0. Every other atom is any value of its
// type.
#include <z3++.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "ir/arithmetic.h"
#include "verify/equality/same.h"
#include "verify/loop_nest.h"

namespace axrun::verify::equality {
namespace {

using ir::ElementType;
using ir::ScalarOp;
using Kind = Atom::Kind;

constexpr unsigned bit_resources = 2'000'000, bit_milliseconds = 4000;
constexpr size_t most_bit_atoms = 48;
constexpr long most_bit_power = 8;
constexpr size_t most_witnesses = 8;

bool has_bits(ElementType type) { return ir::is_integer(type) || type == ElementType::boolean; }
/// Truth values are 0 and 1, and what is made of them on the way wraps without harm.
unsigned width_of(ElementType type) {
  return type == ElementType::boolean ? 8u : static_cast<unsigned>(ir::bits_of(type));
}

/// A difference that has a form that is not understood.
struct NotOfBits {};

class Bits {
 public:
  /// same: whether two atoms are equal.
  explicit Bits(Algebra& algebra, std::function<bool(int, int)> same)
      : algebra_(algebra), same_(std::move(same)), solver_(context_, "QF_BV") {}

  /// Whether it is 0 whatever the atoms are. Throws NotOfBits and what Z3 throws.
  bool zero(const Sum& a) {
    const z3::expr value = sum(a);
    if (!understands_) return false;
    z3::params limits(context_);
    limits.set("rlimit", bit_resources);
    limits.set("timeout", bit_milliseconds);
    solver_.set(limits);
    solver_.add(value != number(0, width_of(a.type)));
    const z3::check_result answer = solver_.check();
    if (answer == z3::sat) remember(solver_.get_model());
    return answer == z3::unsat;
  }

  const Witness& witness() const { return witness_; }

 private:
  z3::expr number(const mpz_class& value, unsigned width) {
    mpz_class rest, modulus = mpz_class(1) << width;
    mpz_fdiv_r(rest.get_mpz_t(), value.get_mpz_t(), modulus.get_mpz_t());
    return context_.bv_val(rest.get_str().c_str(), width);
  }
  z3::expr truth(const z3::expr& condition) {
    return z3::ite(condition, number(1, width_of(ElementType::boolean)),
                   number(0, width_of(ElementType::boolean)));
  }

  /// The same number in another width, as long as it fits.
  static z3::expr resized(const z3::expr& value, ElementType from, unsigned width) {
    const unsigned own = value.get_sort().bv_size();
    if (own == width) return value;
    if (own > width) return value.extract(width - 1, 0);
    return ir::is_signed_integer(from) ? z3::sext(value, width - own) : z3::zext(value, width - own);
  }

  z3::expr sum(const Sum& a) {
    if (!has_bits(a.type)) throw NotOfBits();
    const unsigned width = width_of(a.type);
    z3::expr total = number(0, width);
    for (const Piece& piece : a.pieces) {
      if (piece.coefficient.get_den() != 1) throw NotOfBits();
      const z3::expr coefficient = number(piece.coefficient.get_num(), width);
      if (!piece.variables.empty() || !piece.domain.empty()) {  // one number, whatever it is
        total = total + coefficient * unknown(piece, width);
        continue;
      }
      z3::expr product = coefficient;
      for (const Factor& factor : piece.factors) {
        if (factor.power.get_den() != 1 || factor.power < 1 || factor.power > most_bit_power)
          throw NotOfBits();
        const Atom& of = algebra_.atom(factor.atom);
        if (!has_bits(of.type)) throw NotOfBits();
        // What is narrower than the sum is a truth value alone: casts have atoms of their own.
        if (of.type != ElementType::boolean && width_of(of.type) < width) throw NotOfBits();
        const z3::expr base = resized(atom(factor.atom), of.type, width);
        for (long k = factor.power.get_num().get_si(); k > 0; --k) product = product * base;
      }
      total = total + product;
    }
    return total;
  }

  z3::expr unknown(const Piece& piece, unsigned width) {
    Piece shape = piece;
    shape.coefficient = 1;
    for (const auto& [known, value] : pieces_) {
      if (known == shape && value.get_sort().bv_size() == width) return value;
    }
    const std::string name = "piece" + std::to_string(pieces_.size());
    pieces_.emplace_back(shape, context_.bv_const(name.c_str(), width));
    return pieces_.back().second;
  }

  z3::expr atom(int id) {
    if (const auto found = atoms_.find(id); found != atoms_.end()) return found->second;
    const Atom& a = algebra_.atom(id);
    std::vector<z3::expr> bodies;
    const bool plain =
        a.kind == Kind::call && std::all_of(a.branches.begin(), a.branches.end(), [](const Branch& branch) {
          return branch.variables.empty() && branch.domain.empty() && has_bits(branch.body.type);
        });
    std::optional<z3::expr> value;
    const auto op = static_cast<ScalarOp>(a.number);
    // The other bits of a truth value are not there.
    if (plain && is_understood(op) && !(op == ScalarOp::bit_not && a.type == ElementType::boolean)) {
      for (const Branch& branch : a.branches) bodies.push_back(sum(branch.body));
      value = applied(op, a.type, a.branches[0].body.type, bodies);
      understands_ = true;
    } else {
      value = leaf(id);
    }
    if (atoms_.size() > most_bit_atoms) throw NotOfBits();
    atoms_.emplace(id, *value);
    return *value;
  }

  /// Of what nothing is known but its type; equal ones are one.
  z3::expr leaf(int id) {
    const ElementType type = algebra_.atom(id).type;
    for (const int known : leaves_) {
      if (algebra_.atom(known).type == type && same_(known, id)) return atoms_.at(known);
    }
    leaves_.push_back(id);
    const std::string name = "atom" + std::to_string(id);
    if (type == ElementType::boolean) return truth(context_.bool_const(name.c_str()));
    return context_.bv_const(name.c_str(), width_of(type));
  }

  static bool is_understood(ScalarOp op) {
    switch (op) {
      case ScalarOp::cast:
      case ScalarOp::cast_saturate:
      case ScalarOp::neg:
      case ScalarOp::abs:
      case ScalarOp::sign:
      case ScalarOp::bit_not:
      case ScalarOp::div:
      case ScalarOp::floor_div:
      case ScalarOp::floor_mod:
      case ScalarOp::remainder:
      case ScalarOp::min:
      case ScalarOp::max:
      case ScalarOp::bit_and:
      case ScalarOp::bit_or:
      case ScalarOp::bit_xor:
      case ScalarOp::shift_left:
      case ScalarOp::shift_right:
      case ScalarOp::equal:
      case ScalarOp::less:
        return true;
      default:
        return false;
    }
  }

  /// from: the type of the arguments, which is that of the result but for casts and comparisons.
  z3::expr applied(ScalarOp op, ElementType type, ElementType from, const std::vector<z3::expr>& args) {
    const z3::expr& a = args[0];
    const unsigned width = width_of(from);
    const bool is_signed = ir::is_signed_integer(from);
    const z3::expr zero = number(0, width), one = number(1, width);
    const auto less = [&](const z3::expr& x, const z3::expr& y) { return is_signed ? x < y : z3::ult(x, y); };
    switch (op) {
      case ScalarOp::cast:
        return type == ElementType::boolean ? truth(a != zero) : resized(a, from, width_of(type));
      case ScalarOp::cast_saturate:
        return type == ElementType::boolean ? truth(a != zero) : saturated(a, from, type);
      case ScalarOp::neg:
        return -a;
      case ScalarOp::abs:
        return z3::ite(less(a, zero), -a, a);
      case ScalarOp::sign:
        return z3::ite(less(a, zero), -one, z3::ite(a == zero, zero, one));
      case ScalarOp::bit_not:
        return ~a;
      case ScalarOp::div:
      case ScalarOp::floor_div:
      case ScalarOp::floor_mod:
      case ScalarOp::remainder:
        return divided(op, is_signed, a, args[1]);
      case ScalarOp::min:
        return z3::ite(less(args[1], a), args[1], a);
      case ScalarOp::max:
        return z3::ite(less(a, args[1]), args[1], a);
      case ScalarOp::bit_and:
        return a & args[1];
      case ScalarOp::bit_or:
        return a | args[1];
      case ScalarOp::bit_xor:
        return a ^ args[1];
      case ScalarOp::shift_left:
      case ScalarOp::shift_right: {
        // By less than nothing, or by the width or more, is 0.
        const z3::expr moved = op == ScalarOp::shift_left ? z3::shl(a, args[1])
                               : is_signed                ? z3::ashr(a, args[1])
                                                          : z3::lshr(a, args[1]);
        return z3::ite(z3::ult(args[1], number(width, width)), moved, zero);
      }
      case ScalarOp::equal:
        return truth(a == args[1]);
      case ScalarOp::less:
        return truth(less(a, args[1]));
      default:
        throw NotOfBits();
    }
  }

  /// By 0 it is whatever Z3 takes it to be: both sides need the divisor to be another where it matters.
  z3::expr divided(ScalarOp op, bool is_signed, const z3::expr& a, const z3::expr& b) {
    if (!is_signed) return op == ScalarOp::div || op == ScalarOp::floor_div ? z3::udiv(a, b) : z3::urem(a, b);
    const z3::expr quotient = a / b, rest = z3::srem(a, b);
    const z3::expr zero = number(0, a.get_sort().bv_size());
    const z3::expr other_signs = (rest != zero) && ((rest < zero) != (b < zero));
    switch (op) {
      case ScalarOp::div:
        return quotient;
      case ScalarOp::floor_div:
        return z3::ite(other_signs, quotient - 1, quotient);
      case ScalarOp::floor_mod:
        return z3::ite(other_signs, rest + b, rest);
      default:
        return rest;
    }
  }

  z3::expr saturated(const z3::expr& a, ElementType from, ElementType to) {
    const unsigned target = width_of(to);
    const unsigned width = std::max(width_of(from), target) + 2;
    const bool is_signed = ir::is_signed_integer(to);
    const z3::expr value = resized(a, from, width);
    const mpz_class half = mpz_class(1) << (target - 1);
    const z3::expr low = number(is_signed ? mpz_class(-half) : mpz_class(0), width);
    const z3::expr high = number(is_signed ? mpz_class(half - 1) : mpz_class(2 * half - 1), width);
    return z3::ite(value < low, low, z3::ite(value > high, high, value)).extract(target - 1, 0);
  }

  /// Inputs at which the difference is not 0, as far as the leaves are inputs.
  void remember(const z3::model& model) {
    for (const int id : leaves_) {
      const Atom& a = algebra_.atom(id);
      if (a.kind != Kind::load) continue;
      uint64_t value = 0;
      if (!model.eval(atoms_.at(id), true).is_numeral_u64(value)) continue;
      witness_[a.number].push_back(ir::wrap_to(a.type, static_cast<int64_t>(value)));
    }
  }

  Algebra& algebra_;
  std::function<bool(int, int)> same_;
  z3::context context_;
  z3::solver solver_;
  std::map<int, z3::expr> atoms_;
  std::vector<int> leaves_;
  std::vector<std::pair<Piece, z3::expr>> pieces_;
  bool understands_ = false;  ///< anything that sums of products do not say already
  Witness witness_;
};

}  // namespace

/// Of one case, without conditions.
bool Same::zero_in_bits(const TermList& facts, const Sum& difference) {
  // What all terms have in common is multiplied by nothing: bits of products are dear.
  const Sum rest = algebra_.content(difference, false).second;
  for (const Sum* sum : {&rest, &difference}) {
    if (sum == &rest && rest == difference) continue;
    solver_.check_time();
    Bits bits(algebra_, [&](int a, int b) { return same_atom(facts, a, b); });
    try {
      if (bits.zero(*sum)) return true;
    } catch (const NotOfBits&) {
      return false;
    } catch (const z3::exception&) {
      return false;
    }
    for (const auto& [input, values] : bits.witness()) {
      auto& all = witness_[input];
      for (const int64_t value : values)
        if (all.size() < most_witnesses && std::find(all.begin(), all.end(), value) == all.end())
          all.push_back(value);
    }
  }
  return false;
}

bool Same::zero_by_bits(const TermList& facts, const Sum& difference) {
  if (!has_bits(difference.type) || difference.pieces.size() > 40) return false;
  // Conditions that are no data: their cases one by one.
  for (const auto& [conditions, here] : algebra_.cases({difference})) {
    const TermList known = with(facts, conditions);
    if (here[0].pieces.empty() || (!conditions.empty() && algebra_.impossible(known))) continue;
    ++depth_;
    const bool zero = zero_in_bits(known, here[0]);
    --depth_;
    if (!zero) return false;
  }
  return true;
}

}  // namespace axrun::verify::equality
