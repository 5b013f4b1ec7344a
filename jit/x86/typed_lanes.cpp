// Values of every element type in lanes: conversions, and arithmetic of integers of at most 32 bits.
#include "jit/x86/typed_lanes.h"

#include <bit>
#include <limits>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using namespace asmjit;  // the names of registers, operands and instructions
namespace Inst = asmjit::x86::Inst;
using asmjit::x86::Vec;
using ir::ElementType;
using ir::ScalarOp;
using ir::lane::Opcode;
using ir::loop::Combine;
using Kind = LaneValue::Kind;

namespace {

constexpr uint32_t sign_bit = 0x80000000U;

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
bool is_narrow_float(ElementType type) { return type == ElementType::f16 || type == ElementType::bf16; }
bool fits_i32(int64_t value) { return value == static_cast<int32_t>(value); }

[[noreturn]] void refuse_cast(ElementType from, ElementType to) {
  refuse("a cast from " + std::string(name_of(from)) + " to " + std::string(name_of(to)));
}

}  // namespace

Form form_of(ElementType type) {
  switch (type) {
    case ElementType::f32:
    case ElementType::f16:
    case ElementType::bf16:
      return Form::f32;
    case ElementType::boolean:
      return Form::mask;
    case ElementType::i64:
    case ElementType::u64:
      return Form::i64;
    case ElementType::f64:
      return Form::f64;
    default:
      if (ir::is_integer(type)) return Form::i32;
      refuse("elements of type " + std::string(name_of(type)));
  }
}

LaneValue TypedLanes::literal(ElementType type, int64_t integer) {
  switch (form_of(type)) {
    case Form::mask:
      return lanes_.all_or_nothing(integer != 0);
    case Form::i32:
      return lanes_.constant(static_cast<uint32_t>(integer));
    default:
      return fits_i32(integer) ? lanes_.constant(static_cast<uint32_t>(integer))
                               : literal64(static_cast<uint64_t>(integer));
  }
}

LaneValue TypedLanes::literal(ElementType type, double real) {
  if (type == ElementType::f64) return literal64(std::bit_cast<uint64_t>(real));
  return lanes_.constant(bits_of(static_cast<float>(ir::round_to(type, real))));
}

LaneValue TypedLanes::select(ElementType type, const LaneValue& condition, const LaneValue& yes,
                             const LaneValue& no) {
  const Form form = form_of(type);
  if (form == Form::mask) {
    const LaneValue chosen = apply(Opcode::mask_and, condition, yes);
    const LaneValue others = apply(Opcode::mask_and, apply(Opcode::mask_not, condition), no);
    return apply(Opcode::mask_or, chosen, others);
  }
  if (form == Form::f64 || yes.kind == Kind::pair || no.kind == Kind::pair)
    return pair_select(condition, halves_of(type, yes), halves_of(type, no));
  return lanes_.apply(Opcode::select, {condition, yes, no});
}

// Integers of at most 32 bits
// ---------------------------------------------------------------------------------------------------------

LaneValue TypedLanes::wrapped(ElementType type, const LaneValue& value) {
  const int bits = ir::bits_of(type);
  if (bits == 32) return value;
  if (ir::is_unsigned_integer(type))
    return apply(Opcode::i32_and, value, lanes_.constant((uint32_t{1} << bits) - 1));
  const auto spare = static_cast<uint32_t>(32 - bits);
  return apply(Opcode::i32_shift_right_arithmetic, apply(Opcode::i32_shift_left, value, {}, spare), {},
               spare);
}

LaneValue TypedLanes::integer_binary(InstId id, const LaneValue& a, const LaneValue& b) {
  const Vec result = lanes_.new_vector();
  const Vec first = lanes_.in_register(a), second = lanes_.in_register(b);
  cc_.emit(id, result, first, second);
  return LaneValue::of(result);
}

LaneValue TypedLanes::integer_comparison(ScalarOp op, ElementType type, LaneValue a, LaneValue b) {
  const bool equality = op == ScalarOp::equal || op == ScalarOp::not_equal;
  if (!equality && type == ElementType::u32) {
    // The same order, moved by half of the range.
    a = apply(Opcode::i32_xor, a, lanes_.constant(sign_bit));
    b = apply(Opcode::i32_xor, b, lanes_.constant(sign_bit));
  }
  switch (op) {
    case ScalarOp::equal:
      return apply(Opcode::i32_equal, a, b);
    case ScalarOp::not_equal:
      return apply(Opcode::mask_not, apply(Opcode::i32_equal, a, b));
    case ScalarOp::less:
      return apply(Opcode::i32_less, a, b);
    case ScalarOp::greater:
      return apply(Opcode::i32_less, b, a);
    case ScalarOp::less_equal:
      return apply(Opcode::mask_not, apply(Opcode::i32_less, b, a));
    default:
      AXRUN_ASSERT(op == ScalarOp::greater_equal);
      return apply(Opcode::mask_not, apply(Opcode::i32_less, a, b));
  }
}

LaneValue TypedLanes::integer_operation(ScalarOp op, ElementType type, const LaneValue& a,
                                        const LaneValue& b) {
  const bool is_unsigned = type == ElementType::u32;  // others are extended to what is signed
  switch (op) {
    case ScalarOp::add:
      return wrapped(type, apply(Opcode::i32_add, a, b));
    case ScalarOp::sub:
      return wrapped(type, apply(Opcode::i32_sub, a, b));
    case ScalarOp::mul:
      return wrapped(type, apply(Opcode::i32_mul, a, b));
    case ScalarOp::neg:
      return wrapped(type, apply(Opcode::i32_sub, lanes_.constant(0), a));
    case ScalarOp::abs: {
      if (ir::is_unsigned_integer(type)) return a;
      const Vec result = lanes_.new_vector();
      cc_.emit(Inst::kIdVpabsd, result, lanes_.in_register(a));
      return wrapped(type, LaneValue::of(result));
    }
    case ScalarOp::min:
      return integer_binary(is_unsigned ? Inst::kIdVpminud : Inst::kIdVpminsd, a, b);
    case ScalarOp::max:
      return integer_binary(is_unsigned ? Inst::kIdVpmaxud : Inst::kIdVpmaxsd, a, b);
    case ScalarOp::bit_and:
      return apply(Opcode::i32_and, a, b);
    case ScalarOp::bit_or:
      return apply(Opcode::i32_or, a, b);
    case ScalarOp::bit_xor:
      return apply(Opcode::i32_xor, a, b);
    case ScalarOp::bit_not:
      return wrapped(type, apply(Opcode::i32_xor, a, lanes_.constant(~0U)));
    default:
      refuse(std::string(name_of(op)) + " of " + std::string(name_of(type)));
  }
}

LaneValue TypedLanes::operation(ScalarOp op, ElementType type, const LaneValue& a, const LaneValue& b) {
  const Form form = form_of(type);
  if (form == Form::f64)
    return f64_operation(op, halves_of(type, a), b.defined() ? halves_of(type, b) : Two{});
  const bool compares = ir::is_comparison(op);
  const bool narrow = a.kind != Kind::pair && b.kind != Kind::pair;
  if (form == Form::i32) {
    return compares ? integer_comparison(op, type, a, b) : integer_operation(op, type, a, b);
  }
  // What fits 32 bits compares as it does there; sums and the like may need more.
  if (type == ElementType::i64 && narrow) {
    if (compares) return integer_comparison(op, ElementType::i32, a, b);
    if (op == ScalarOp::min || op == ScalarOp::max) return integer_operation(op, ElementType::i32, a, b);
  }
  if (compares) {
    if (type != ElementType::i64 && op != ScalarOp::equal && op != ScalarOp::not_equal)
      refuse(std::string(name_of(op)) + " of " + std::string(name_of(type)));
    return wide_integer_comparison(op, halves_of(type, a), halves_of(type, b));
  }
  return wide_integer_operation(op, type, a, b);
}

// Reductions
// ---------------------------------------------------------------------------------------------------------

LaneValue TypedLanes::combine(Combine how, ElementType type, const LaneValue& a, const LaneValue& b) {
  if (how == Combine::assign) return b;
  if (form_of(type) == Form::f32) return rounded(type, lanes_.combine(how, a, b));
  if (form_of(type) == Form::mask) refuse("a combination of booleans");
  constexpr ScalarOp operations[] = {ScalarOp::add, ScalarOp::mul, ScalarOp::min, ScalarOp::max};
  return operation(operations[static_cast<size_t>(how) - 1], type, a, b);
}

LaneValue TypedLanes::identity(Combine how, ElementType type) {
  if (ir::is_float(type)) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double identities[] = {0, -0.0, 1, infinity, -infinity};
    return literal(type, identities[static_cast<size_t>(how)]);
  }
  using Kind = ir::Monoid::Kind;
  const int64_t identities[] = {0, 0, 1, ir::integer_identity(Kind::min, type),
                                ir::integer_identity(Kind::max, type)};
  return literal(type, identities[static_cast<size_t>(how)]);
}

LaneValue TypedLanes::fold(Combine how, ElementType type, const LaneValue& value) {
  const Form form = form_of(type);
  if (form == Form::i64 || form == Form::f64) {
    LaneValue sum = as_pair(type, value);
    sum = as_pair(type, combine(how, type, sum, joined(sum.upper, sum.vector)));
    for (int distance = count() / 2; distance > 1; distance /= 2) {
      const Vec turned = lanes_.shuffle(sum.vector, distance).vector;
      sum = as_pair(type, combine(how, type, joined(sum.vector, sum.vector), joined(turned, turned)));
    }
    return sum;
  }
  LaneValue sum = LaneValue::of(lanes_.in_register(value));
  for (int distance = count() / 2; distance > 0; distance /= 2)
    sum = combine(how, type, sum, lanes_.shuffle(sum.vector, distance));
  return sum;
}

// Conversions
// ---------------------------------------------------------------------------------------------------------

LaneValue TypedLanes::rounded(ElementType type, const LaneValue& value) {
  if (!is_narrow_float(type)) return value;
  const Vec source = lanes_.in_register(value), result = lanes_.new_vector();
  if (type == ElementType::f16) {
    const Vec half = wide() ? Vec(cc_.newYmm()) : Vec(cc_.newXmm());
    cc_.emit(Inst::kIdVcvtps2ph, half, source, imm(0));
    cc_.emit(Inst::kIdVcvtph2ps, result, half);
    return LaneValue::of(result);
  }
  // To nearest, ties to even: as much is added as carries into the upper half where that is rounded up.
  const LaneValue x = LaneValue::of(source);
  const LaneValue odd = apply(Opcode::i32_and, apply(Opcode::i32_shift_right, x, {}, 16), lanes_.constant(1));
  const LaneValue half = apply(Opcode::i32_add, odd, lanes_.constant(0x7fffU));
  const LaneValue upper =
      apply(Opcode::i32_and, apply(Opcode::i32_add, x, half), lanes_.constant(0xffff0000U));
  constexpr uint32_t nan = 0x7fc00000U;
  return lanes_.apply(Opcode::select, {apply(Opcode::unordered, x, x), lanes_.constant(nan), upper});
}

/// The value where the number is one, 0 where it is NaN.
LaneValue TypedLanes::where_number(const LaneValue& number, const LaneValue& value) {
  return lanes_.apply(Opcode::select, {apply(Opcode::equal, number, number), value, lanes_.constant(0)});
}

/// Truncated, saturated, 0 for NaN; of at most 32 bits.
LaneValue TypedLanes::float_to_integer(ElementType to, const LaneValue& value) {
  const LaneValue x = LaneValue::of(lanes_.in_register(value));
  const auto low = static_cast<float>(ir::integer_min(to)), high = static_cast<float>(ir::integer_max(to));
  // The instructions answer their second operand for NaN.
  if (to == ElementType::u32) {
    if (!wide()) refuse_cast(ElementType::f32, to);
    const Vec result = lanes_.new_vector();
    const LaneValue positive = apply(Opcode::max, x, lanes_.constant(0));
    cc_.emit(Inst::kIdVcvttps2udq, result, positive.vector);  // all ones where it is too large
    return LaneValue::of(result);
  }
  if (to == ElementType::i32) {
    constexpr float two_to_31 = 2147483648.0F;
    const LaneValue near = apply(Opcode::to_i32_truncate, x);  // the least integer where out of range
    const LaneValue large = apply(Opcode::less_equal, lanes_.constant(bits_of(two_to_31)), x);
    const LaneValue bounded = lanes_.apply(Opcode::select, {large, lanes_.constant(0x7fffffffU), near});
    return where_number(x, bounded);
  }
  const LaneValue least = apply(Opcode::max, x, lanes_.constant(bits_of(low)));
  const LaneValue bounded = apply(Opcode::min, least, lanes_.constant(bits_of(high)));
  const LaneValue integer = apply(Opcode::to_i32_truncate, bounded);
  return low == 0 ? integer : where_number(x, integer);
}

/// Within the range of a type, where that of `from` is not: both are signed in lanes of 32 bits, or u32.
LaneValue TypedLanes::clamped(ElementType from, ElementType to, const LaneValue& value) {
  LaneValue result = value;
  const int64_t least = ir::integer_min(to), most = ir::integer_max(to);
  const auto bound = [&](int64_t limit) { return lanes_.constant(static_cast<uint32_t>(limit)); };
  if (ir::integer_max(from) > most)
    result = integer_operation(ScalarOp::min, from == ElementType::u32 ? from : ElementType::i32, result,
                               bound(most));
  if (ir::integer_min(from) < least)
    result = integer_operation(ScalarOp::max, ElementType::i32, result, bound(least));
  return result;
}

LaneValue TypedLanes::convert(ElementType from, ElementType to, bool saturate, const LaneValue& value) {
  if (from == to) return value;
  // Beyond the range of i64 only bits are moved.
  const bool unsigned_64 = from == ElementType::u64 || to == ElementType::u64;
  if (unsigned_64 && (ir::is_float(from) || ir::is_float(to) || saturate)) refuse_cast(from, to);
  const Form source = form_of(from), target = form_of(to);
  if (target == Form::mask) {
    if (source == Form::f32) return apply(Opcode::mask_not, apply(Opcode::equal, value, lanes_.constant(0)));
    const LaneValue zero = source == Form::f64 ? literal64(0) : lanes_.constant(0);
    return operation(ScalarOp::not_equal, from, value, zero);
  }
  if (source == Form::mask) {
    if (target == Form::f64) return to_f64(ElementType::i32, convert(from, ElementType::i32, false, value));
    const uint32_t one = target == Form::f32 ? bits_of(1.0F) : 1;
    return lanes_.apply(Opcode::select, {value, lanes_.constant(one), lanes_.constant(0)});
  }
  if (source == Form::f64) return from_f64(to, value);
  if (target == Form::f64) return to_f64(from, value);
  if (source == Form::f32 && target == Form::f32) return is_narrow_float(to) ? rounded(to, value) : value;
  if (source == Form::f32) return target == Form::i32 ? float_to_integer(to, value) : to_i64(from, value);
  if (source == Form::i64) return from_i64(to, saturate, value);
  if (target == Form::i64) return to_i64(from, value);
  if (target == Form::f32) {
    // What rounds twice must not: integers of up to 24 bits are exact, larger ones overflow f16.
    const bool exact = ir::bits_of(from) <= 24;
    if (to == ElementType::bf16 && !exact) refuse_cast(from, to);
    if (value.kind == Kind::constant && from != ElementType::u32)
      return literal(to, static_cast<double>(static_cast<int32_t>(value.bits)));
    if (from != ElementType::u32) return rounded(to, apply(Opcode::i32_to_f32, value));
    if (!wide()) refuse_cast(from, to);
    const Vec result = lanes_.new_vector();
    cc_.emit(Inst::kIdVcvtudq2ps, result, lanes_.in_register(value));
    return rounded(to, LaneValue::of(result));
  }
  if (value.kind == Kind::constant) {
    const int64_t known =
        from == ElementType::u32 ? int64_t{value.bits} : int64_t{static_cast<int32_t>(value.bits)};
    return literal(to, ir::integer_to_integer(from, to, known, saturate));
  }
  if (saturate) return clamped(from, to, value);
  const bool inside =
      ir::integer_min(from) >= ir::integer_min(to) && ir::integer_max(from) <= ir::integer_max(to);
  return inside ? value : wrapped(to, value);
}

}  // namespace axrun::jit::x86
