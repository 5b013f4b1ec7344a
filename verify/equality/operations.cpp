// Scalar operations as sums: reals, integers that wrap, truth values.
#include <algorithm>
#include <cmath>

#include "ir/arithmetic.h"
#include "verify/checks.h"
#include "verify/equality/meaning.h"
#include "verify/unproved.h"

namespace axrun::verify::equality {

using ir::ElementType;
using ir::Expr;
using ir::ScalarOp;

namespace {

/// Whole numbers below these are what they are in every wide type, and in every other of 16 bits.
constexpr long exact_reals = 1L << 24, exact_narrow_reals = 128;

bool is_wide(ElementType type) { return type == ElementType::f32 || type == ElementType::f64; }

Value joined(std::initializer_list<const Value*> values) {
  Value all;
  for (const Value* value : values) all.needs.insert(value->needs.begin(), value->needs.end());
  return all;
}

void require_finite(const Value& value) {
  if ((value.up || value.down) && checks::on("equality.infinite_argument"))
    throw Unproved{"an operation of what may be infinite"};
}

}  // namespace

Value Meaning::sum(const Value& a, const Value& b) {
  if (((a.up && b.down) || (a.down && b.up)) && checks::on("equality.infinities_cancel"))
    throw Unproved{"infinities may cancel"};
  Value result = joined({&a, &b});
  result.sum = algebra_.add(a.sum, b.sum);
  result.up = a.up || b.up;
  result.down = a.down || b.down;
  return result;
}

Value Meaning::negative(const Value& a) {
  Value result = a;
  result.sum = algebra_.scaled(a.sum, -1);
  std::swap(result.up, result.down);
  return result;
}

Value Meaning::product(const Value& a, const Value& b) {
  Value result = joined({&a, &b});
  result.sum = algebra_.multiply(a.sum, b.sum);
  for (const bool first : {true, false}) {
    const Value &one = first ? a : b, &other = first ? b : a;
    if (!one.up && !one.down) continue;
    require_finite(other);
    const bool positive = algebra_.sign(other.sum) == Algebra::Sign::positive;
    const bool negative = algebra_.sign(algebra_.scaled(other.sum, -1)) == Algebra::Sign::positive;
    if (!positive && !negative && checks::on("equality.infinity_times_zero"))
      throw Unproved{"an infinity is multiplied by what may be 0"};
    result.up = positive ? one.up : one.down;
    result.down = positive ? one.down : one.up;
  }
  return result;
}

Value Meaning::power(const Value& base, const Rational& exponent) {
  require_finite(base);
  Value result = joined({&base});
  if (exponent.get_den() != 1) needs(result, Need::Kind::not_negative, base.sum);
  if (exponent < 0) needs(result, Need::Kind::not_zero, base.sum);
  result.sum = algebra_.power(base.sum, exponent);
  return result;
}

/// What is stored in a narrow type is rounded; so is what is cast to one.
Value Meaning::rounded(ElementType type, Value value) {
  if (!ir::is_float(type) || is_wide(type)) return value;
  require_finite(value);
  if (const Rational* constant = algebra_.constant(value.sum)) {
    value.sum = algebra_.number(type, Rational(ir::round_to(type, constant->get_d())));
    return value;
  }
  if (value.sum.pieces.size() == 1) {
    const Piece& piece = value.sum.pieces[0];
    const bool one = piece.coefficient == 1 && piece.variables.empty() && piece.factors.size() == 1 &&
                     piece.factors[0].power == 1;
    if (one && piece.domain.empty()) {
      const Atom& atom = algebra_.atom(piece.factors[0].atom);
      const bool there = atom.kind == Atom::Kind::load ||
                         (atom.kind == Atom::Kind::call && atom.number == static_cast<int>(ScalarOp::cast));
      if (there && atom.type == type) return value;
    }
  }
  value.sum = algebra_.call(ScalarOp::cast, type, {value.sum});
  return value;
}

Value Meaning::cast(const Expr& e, const Value& argument) {
  const ElementType from = argument.sum.type, to = e.type;
  Value result = argument;
  if (from == to) return result;
  const Rational* constant = algebra_.constant(argument.sum);
  if (ir::is_float(to)) {
    if (is_wide(to)) {  // over the reals nothing happens, integers of sizes included
      const bool exact = ir::is_float(from) || from == ElementType::boolean || constant != nullptr;
      const auto of_sizes = [&](const Piece& piece) {
        return std::all_of(piece.factors.begin(), piece.factors.end(), [&](const Factor& factor) {
          return algebra_.atom(factor.atom).kind == Atom::Kind::integer;
        });
      };
      const auto& pieces = argument.sum.pieces;
      if (exact || (from == ElementType::i64 && std::all_of(pieces.begin(), pieces.end(), of_sizes))) {
        result.sum = algebra_.typed(argument.sum, to);
        return result;
      }
      const auto number = same_number(argument.sum, to);
      result.sum = number ? *number : algebra_.call(ScalarOp::cast, to, {argument.sum});
      return result;
    }
    if (e.op == ScalarOp::cast_saturate) {
      require_finite(argument);
      result.sum = algebra_.call(e.op, to, {argument.sum});
      return result;
    }
    result.sum.type = to;
    if (!ir::is_float(from) && from != ElementType::boolean && constant == nullptr) {
      result.sum = algebra_.call(ScalarOp::cast, to, {argument.sum});
      return result;
    }
    return rounded(to, std::move(result));
  }
  require_finite(argument);
  if (to == ElementType::boolean) {
    if (ir::is_float(from)) {  // not 0
      result.sum =
          algebra_.add(algebra_.positive(argument.sum), algebra_.positive(algebra_.scaled(argument.sum, -1)));
      return result;
    }
    result.sum = algebra_.call(e.op, to, {argument.sum});
    return result;
  }
  // Literals are exact numbers.
  const bool whole = constant != nullptr && ir::is_float(from) && constant->get_den() == 1;
  if (whole && abs(*constant) < (is_wide(from) ? exact_reals : exact_narrow_reals) &&
      *constant >= mpz_class(static_cast<long>(ir::integer_min(to))) &&
      *constant <= mpz_class(static_cast<long>(ir::integer_max(to)))) {
    result.sum = algebra_.number(to, *constant);
    return result;
  }
  if (ir::is_integer(from) && from != ElementType::boolean) {
    if (auto number = same_number(argument.sum, to)) {
      result.sum = std::move(*number);
      return result;
    }
  }
  const bool widens_truth = from == ElementType::boolean;
  const bool wraps = ir::is_integer(from) && e.op == ScalarOp::cast && ir::bits_of(to) <= ir::bits_of(from);
  if (widens_truth || wraps) {
    result.sum = algebra_.typed(argument.sum, to);
    return result;
  }
  if (constant != nullptr && ir::is_integer(from) && from != ElementType::u64 &&
      constant->get_num().fits_slong_p()) {
    const int64_t value =
        ir::integer_to_integer(from, to, constant->get_num().get_si(), e.op == ScalarOp::cast_saturate);
    result.sum = algebra_.number(to, Rational(mpz_class(static_cast<long>(value))));
    return result;
  }
  result.sum = algebra_.call(e.op, to, {argument.sum});
  return result;
}

Value Meaning::evaluated(const Expr& e, const Place& at) {
  if (e.op == ScalarOp::select) {
    if (const auto condition = index(e.args[0], at)) {
      const TermList facts = algebra_.facts_about({*condition});
      if (algebra_.implied(facts, *condition)) return value(e.args[1], at);
      if (algebra_.implied(facts, algebra_.terms().negation(*condition))) return value(e.args[2], at);
      return chosen(*condition, value(e.args[1], at), value(e.args[2], at));
    }
    const Value condition = value(e.args[0], at), then = value(e.args[1], at),
                otherwise = value(e.args[2], at);
    Value result = joined({&condition});
    const Sum is = algebra_.typed(condition.sum, e.type);
    const Sum is_not = algebra_.subtract(algebra_.number(e.type, 1), is);
    for (const Value* side : {&then, &otherwise}) {
      for (const int id : side->needs) {
        Need need = needs_[static_cast<size_t>(id)];
        need.data.push_back(side == &then ? is : is_not);
        result.needs.insert(keep(std::move(need)));
      }
    }
    result.sum = algebra_.add(algebra_.multiply(is, then.sum), algebra_.multiply(is_not, otherwise.sum));
    result.up = then.up || otherwise.up;
    result.down = then.down || otherwise.down;
    return result;
  }
  std::vector<Value> args;
  for (int k = 0; k < ir::argument_count(e.op); ++k)
    args.push_back(value(e.args[static_cast<size_t>(k)], at));
  if (e.op == ScalarOp::cast || e.op == ScalarOp::cast_saturate) return cast(e, args[0]);
  if (ir::is_comparison(e.op)) return comparison(e, args);
  if (e.type == ElementType::boolean) return logical(e, args);
  return ir::is_float(e.type) ? real_operation(e, args) : integer_operation(e, args);
}

Value Meaning::real_operation(const Expr& e, const std::vector<Value>& args) {
  const Value& a = args[0];
  const auto with = [&](const Sum& sum) {
    Value result = joined({&a});
    result.sum = sum;
    return result;
  };
  const auto most = [&](const Value& x, const Value& y) {
    Value result = joined({&x, &y});
    result.sum = algebra_.maximum(e.type, {{{}, {}, x.sum}, {{}, {}, y.sum}});
    result.up = x.up || y.up;
    result.down = x.down && y.down;
    return result;
  };
  switch (e.op) {
    case ScalarOp::neg:
      return negative(a);
    case ScalarOp::add:
      return sum(a, args[1]);
    case ScalarOp::sub:
      return sum(a, negative(args[1]));
    case ScalarOp::mul:
      return product(a, args[1]);
    case ScalarOp::div:
      return product(a, power(args[1], -1));
    case ScalarOp::sqrt:
      return power(a, Rational(1, 2));
    case ScalarOp::max:
      return most(a, args[1]);
    case ScalarOp::min:
      return negative(most(negative(a), negative(args[1])));
    case ScalarOp::exp: {
      Value result = with(algebra_.exponential(a.sum));
      result.up = a.up;
      return result;
    }
    default:
      break;
  }
  for (const Value& value : args) require_finite(value);
  if (e.op == ScalarOp::abs) return with(algebra_.absolute(a.sum));
  if (e.op == ScalarOp::log) {
    Value result = joined({&a});
    needs(result, Need::Kind::positive, a.sum);
    result.sum = algebra_.logarithm(a.sum);
    return result;
  }
  if (e.op == ScalarOp::sign) {
    Value result = joined({&a});
    result.sum = algebra_.subtract(algebra_.positive(a.sum), algebra_.positive(algebra_.scaled(a.sum, -1)));
    result.sum.type = e.type;
    return result;
  }
  if (e.op == ScalarOp::pow) {
    const Rational* exponent = algebra_.constant(args[1].sum);
    const bool whole = exponent != nullptr && exponent->get_den() == 1 && abs(*exponent) <= 8;
    if (whole || (exponent != nullptr && abs(*exponent) * 2 == 1)) {
      const Rational value = *exponent;
      return power(a, value);
    }
  }
  const bool partial = e.op == ScalarOp::asin || e.op == ScalarOp::acos || e.op == ScalarOp::acosh ||
                       e.op == ScalarOp::atanh || e.op == ScalarOp::pow || e.op == ScalarOp::floor_mod ||
                       e.op == ScalarOp::remainder || e.op == ScalarOp::tan;
  Value result = args.size() == 2 ? joined({&a, &args[1]}) : joined({&a});
  std::vector<Sum> sums;
  for (const Value& value : args) sums.push_back(value.sum);
  result.sum = algebra_.call(e.op, e.type, sums);
  // Wherever the other side has the same call, it is defined where this one is.
  if (partial) result.needs.insert(keep({Need::Kind::not_zero, result.sum, {}, {}}));
  return result;
}

Value Meaning::integer_operation(const Expr& e, const std::vector<Value>& args) {
  switch (e.op) {
    case ScalarOp::neg:
      return negative(args[0]);
    case ScalarOp::add:
      return sum(args[0], args[1]);
    case ScalarOp::sub:
      return sum(args[0], negative(args[1]));
    case ScalarOp::mul:
      return product(args[0], args[1]);
    default:
      break;
  }
  Value result = args.size() == 2 ? joined({&args[0], &args[1]}) : joined({&args[0]});
  std::vector<Sum> sums;
  for (const Value& value : args) sums.push_back(value.sum);
  const bool divides = e.op == ScalarOp::div || e.op == ScalarOp::floor_div || e.op == ScalarOp::floor_mod ||
                       e.op == ScalarOp::remainder;
  if (divides) needs(result, Need::Kind::not_zero, sums[1]);
  result.sum = algebra_.call(e.op, e.type, sums);
  return result;
}

Value Meaning::comparison(const Expr& e, const std::vector<Value>& args) {
  Value result = joined({&args[0], &args[1]});
  const Sum one = algebra_.number(ElementType::boolean, 1);
  const ElementType of = args[0].sum.type;
  const auto negation = [&](const Sum& a) { return algebra_.subtract(one, a); };
  if (!ir::is_float(of)) {
    const bool swapped = e.op == ScalarOp::greater || e.op == ScalarOp::less_equal;
    const Sum &a = args[swapped ? 1 : 0].sum, &b = args[swapped ? 0 : 1].sum;
    const bool equality = e.op == ScalarOp::equal || e.op == ScalarOp::not_equal;
    const Sum holds = equality ? algebra_.call(ScalarOp::equal, e.type, {a, b})
                               : algebra_.call(ScalarOp::less, e.type, {a, b});
    const bool negated =
        e.op == ScalarOp::not_equal || e.op == ScalarOp::less_equal || e.op == ScalarOp::greater_equal;
    result.sum = negated ? negation(holds) : holds;
    return result;
  }
  for (const Value& value : args) require_finite(value);
  const Sum more = algebra_.subtract(args[0].sum, args[1].sum);
  const Sum above = algebra_.positive(more), below = algebra_.positive(algebra_.scaled(more, -1));
  switch (e.op) {
    case ScalarOp::greater:
      result.sum = above;
      break;
    case ScalarOp::less:
      result.sum = below;
      break;
    case ScalarOp::greater_equal:
      result.sum = negation(below);
      break;
    case ScalarOp::less_equal:
      result.sum = negation(above);
      break;
    case ScalarOp::not_equal:
      result.sum = algebra_.add(above, below);
      break;
    default:
      result.sum = negation(algebra_.add(above, below));
      break;
  }
  return result;
}

Value Meaning::logical(const Expr& e, const std::vector<Value>& args) {
  Value result = args.size() == 2 ? joined({&args[0], &args[1]}) : joined({&args[0]});
  const Sum& a = args[0].sum;
  const Sum one = algebra_.number(ElementType::boolean, 1);
  switch (e.op) {
    case ScalarOp::logical_not:
      result.sum = algebra_.subtract(one, a);
      return result;
    case ScalarOp::logical_and:
      result.sum = algebra_.multiply(a, args[1].sum);
      return result;
    case ScalarOp::logical_or:
      result.sum = algebra_.subtract(algebra_.add(a, args[1].sum), algebra_.multiply(a, args[1].sum));
      return result;
    case ScalarOp::logical_xor: {
      const Sum both = algebra_.multiply(a, args[1].sum);
      result.sum = algebra_.subtract(algebra_.add(a, args[1].sum), algebra_.scaled(both, 2));
      return result;
    }
    default:
      break;
  }
  // is_nan and is_inf are about what the reals do not have.
  throw Unproved{"an operation on truth values or on what is no number"};
}

}  // namespace axrun::verify::equality
