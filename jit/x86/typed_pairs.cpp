// Elements of 64 bits: two vectors for the lanes of one, the lower lanes first.
#include <bit>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "jit/x86/refuse.h"
#include "jit/x86/typed_lanes.h"

namespace axrun::jit::x86 {

using namespace asmjit;  // the names of registers, operands and instructions
namespace Inst = asmjit::x86::Inst;
using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
using ir::ElementType;
using ir::ScalarOp;
using ir::lane::Opcode;
using Kind = LaneValue::Kind;

namespace {

constexpr int suppress_exceptions = 8;
// Predicates of vcmppd: quiet; NaN is true for the last two.
constexpr int equal_predicate = 0x00, less_predicate = 0x11, less_equal_predicate = 0x12,
              not_equal_predicate = 0x04, unordered_predicate = 0x03;
constexpr double two_to_31 = 2147483648.0, two_to_63 = 9223372036854775808.0;

uint64_t bits_of(double value) { return std::bit_cast<uint64_t>(value); }

[[noreturn]] void refuse_operation(ScalarOp op, ElementType type) {
  refuse(std::string(name_of(op)) + " of " + std::string(name_of(type)));
}
[[noreturn]] void refuse_cast(ElementType from, ElementType to) {
  refuse("a cast from " + std::string(name_of(from)) + " to " + std::string(name_of(to)));
}

}  // namespace

// Halves
// ---------------------------------------------------------------------------------------------------------

LaneValue TypedLanes::joined(const Vec& lower, const Vec& upper) { return LaneValue::of_pair(lower, upper); }

LaneValue TypedLanes::literal64(uint64_t bits) {
  const Vec both = lanes_.new_vector();
  if (bits == 0)
    cc_.emit(wide() ? Inst::kIdVpxord : Inst::kIdVpxor, both, both, both);
  else
    cc_.emit(Inst::kIdVpbroadcastq, both, cc_.newUInt64Const(ConstPoolScope::kLocal, bits));
  return joined(both, both);
}

/// The upper lanes of a vector of 32-bit elements, in a register of half the width.
Vec TypedLanes::upper_half(const LaneValue& value) {
  const Vec source = lanes_.in_register(value), result = wide() ? Vec(cc_.newYmm()) : Vec(cc_.newXmm());
  cc_.emit(wide() ? Inst::kIdVextractf64x4 : Inst::kIdVextractf128, result, source, imm(1));
  return result;
}

/// An instruction that makes elements of 64 bits out of ones of 32, for both halves.
TypedLanes::Two TypedLanes::in_halves(InstId id, const LaneValue& value) {
  const Vec source = lanes_.in_register(value), lower = lanes_.new_vector(), upper = lanes_.new_vector();
  cc_.emit(id, lower, wide() ? Vec(source.ymm()) : Vec(source.xmm()));
  cc_.emit(id, upper, upper_half(LaneValue::of(source)));
  return {LaneValue::of(lower), LaneValue::of(upper)};
}

/// An instruction that makes elements of 32 bits out of ones of 64, for both halves.
LaneValue TypedLanes::halves_joined(InstId id, const Two& value) {
  const Vec result = lanes_.new_vector();
  const Vec lower = wide() ? Vec(cc_.newYmm()) : Vec(cc_.newXmm());
  const Vec upper = wide() ? Vec(cc_.newYmm()) : Vec(cc_.newXmm());
  cc_.emit(id, lower, value[0].vector);
  cc_.emit(id, upper, value[1].vector);
  const Vec whole = wide() ? Vec(lower.zmm()) : Vec(lower.ymm());
  cc_.emit(wide() ? Inst::kIdVinsertf64x4 : Inst::kIdVinsertf128, result, whole, upper, imm(1));
  return LaneValue::of(result);
}

TypedLanes::Two TypedLanes::halves_of(ElementType type, const LaneValue& value) {
  if (value.kind == Kind::pair) return {LaneValue::of(value.vector), LaneValue::of(value.upper)};
  AXRUN_ASSERT(form_of(type) == Form::i64);
  if (value.kind == Kind::constant)
    return halves_of(type, literal64(static_cast<uint64_t>(int64_t{static_cast<int32_t>(value.bits)})));
  return in_halves(Inst::kIdVpmovsxdq, value);
}

LaneValue TypedLanes::as_pair(ElementType type, const LaneValue& value) {
  const Two halves = halves_of(type, value);
  return joined(halves[0].vector, halves[1].vector);
}

LaneValue TypedLanes::gather(ElementType type, const Gp& base, const LaneValue& offsets,
                             const LaneValue& mask) {
  if (size_of(type) == 4) return lanes_.gather(base, lanes_.in_register(offsets), mask);
  const Vec all = lanes_.in_register(offsets);
  const Two masks = mask.defined() ? mask_halves(mask) : Two{};
  const auto half = [&](const Vec& places, const LaneValue& selected) {
    const Vec result = lanes_.new_vector();
    cc_.emit(wide() ? Inst::kIdVpxord : Inst::kIdVpxor, result, result, result);
    const asmjit::x86::Mem source = asmjit::x86::ptr(base, places);
    // The instruction clears its mask.
    if (wide()) {
      const asmjit::x86::KReg lanes = cc_.newKw();
      if (selected.defined())
        cc_.emit(Inst::kIdKmovw, lanes, selected.mask);
      else
        cc_.emit(Inst::kIdKxnorw, lanes, lanes, lanes);
      cc_.k(lanes);
      cc_.emit(Inst::kIdVpgatherdq, result, source);
    } else {
      const Vec lanes = lanes_.new_vector();
      if (selected.defined())
        cc_.emit(Inst::kIdVmovaps, lanes, selected.vector);
      else
        cc_.emit(Inst::kIdVpcmpeqd, lanes, lanes, lanes);
      cc_.emit(Inst::kIdVpgatherdq, result, source, lanes);
    }
    return result;
  };
  const Vec lower = half(wide() ? Vec(all.ymm()) : Vec(all.xmm()), masks[0]);
  return joined(lower, half(upper_half(LaneValue::of(all)), masks[1]));
}

TypedLanes::Two TypedLanes::mask_halves(const LaneValue& mask) {
  if (wide()) {
    const asmjit::x86::KReg upper = cc_.newKw();
    cc_.emit(Inst::kIdKshiftrw, upper, mask.mask, imm(8));
    return {mask, LaneValue::of_mask(upper)};
  }
  return in_halves(Inst::kIdVpmovsxdq, LaneValue::of(mask.vector));
}

LaneValue TypedLanes::join_masks(const LaneValue& lower, const LaneValue& upper) {
  if (wide()) {
    const LaneValue result = lanes_.new_mask();
    cc_.emit(Inst::kIdKunpckbw, result.mask, upper.mask, lower.mask);
    return result;
  }
  return LaneValue::of_mask(narrowed(joined(lower.vector, upper.vector)).vector);
}

LaneValue TypedLanes::narrowed(const LaneValue& pair) {
  if (pair.kind != Kind::pair) return pair;
  if (wide()) return halves_joined(Inst::kIdVpmovqd, {LaneValue::of(pair.vector), LaneValue::of(pair.upper)});
  constexpr int even_elements = 0x88, middle_parts_exchanged = 0xd8;
  const Vec mixed = lanes_.new_vector(), result = lanes_.new_vector();
  cc_.emit(Inst::kIdVshufps, mixed, pair.vector, pair.upper, imm(even_elements));
  cc_.emit(Inst::kIdVpermq, result, mixed, imm(middle_parts_exchanged));
  return LaneValue::of(result);
}

LaneValue TypedLanes::pair_binary(InstId narrow, InstId wide_id, const Two& a, const Two& b) {
  const Vec lower = lanes_.new_vector(), upper = lanes_.new_vector();
  const InstId id = wide() ? wide_id : narrow;
  cc_.emit(id, lower, a[0].vector, b[0].vector);
  cc_.emit(id, upper, a[1].vector, b[1].vector);
  return joined(lower, upper);
}

LaneValue TypedLanes::pair_select(const LaneValue& condition, const Two& yes, const Two& no) {
  const Two where = mask_halves(condition);
  Vec results[2];
  for (const size_t k : {size_t{0}, size_t{1}}) {
    Vec& result = results[k] = lanes_.new_vector();
    if (wide()) {
      cc_.emit(Inst::kIdVmovaps, result, no[k].vector);
      cc_.k(where[k].mask);
      cc_.emit(Inst::kIdVmovapd, result, yes[k].vector);
    } else {
      cc_.emit(Inst::kIdVblendvpd, result, no[k].vector, yes[k].vector, where[k].vector);
    }
  }
  return joined(results[0], results[1]);
}

// Integers
// ---------------------------------------------------------------------------------------------------------

LaneValue TypedLanes::pair_product(const Two& a, const Two& b) {
  if (wide()) return pair_binary(Inst::kIdVpmullq, Inst::kIdVpmullq, a, b);
  constexpr int halves_exchanged = 0xb1;
  Vec results[2];
  for (const size_t k : {size_t{0}, size_t{1}}) {
    // Of the four products of halves, the upper one is lost, and of the mixed ones all but 32 bits.
    const Vec turned = lanes_.new_vector(), mixed = lanes_.new_vector(), other = lanes_.new_vector();
    Vec& result = results[k] = lanes_.new_vector();
    cc_.emit(Inst::kIdVpshufd, turned, b[k].vector, imm(halves_exchanged));
    cc_.emit(Inst::kIdVpmulld, mixed, turned, a[k].vector);
    cc_.emit(Inst::kIdVpsrlq, other, mixed, imm(32));
    cc_.emit(Inst::kIdVpaddd, mixed, mixed, other);
    cc_.emit(Inst::kIdVpsllq, mixed, mixed, imm(32));
    cc_.emit(Inst::kIdVpmuludq, result, a[k].vector, b[k].vector);
    cc_.emit(Inst::kIdVpaddq, result, result, mixed);
  }
  return joined(results[0], results[1]);
}

LaneValue TypedLanes::wide_integer_operation(ScalarOp op, ElementType type, const LaneValue& left,
                                             const LaneValue& right) {
  const Two a = halves_of(type, left), b = right.defined() ? halves_of(type, right) : Two{};
  const auto zero = [&] { return halves_of(type, literal64(0)); };
  switch (op) {
    case ScalarOp::add:
      return pair_binary(Inst::kIdVpaddq, Inst::kIdVpaddq, a, b);
    case ScalarOp::sub:
      return pair_binary(Inst::kIdVpsubq, Inst::kIdVpsubq, a, b);
    case ScalarOp::mul:
      return pair_product(a, b);
    case ScalarOp::neg:
      return pair_binary(Inst::kIdVpsubq, Inst::kIdVpsubq, zero(), a);
    case ScalarOp::bit_and:
      return pair_binary(Inst::kIdVpand, Inst::kIdVpandq, a, b);
    case ScalarOp::bit_or:
      return pair_binary(Inst::kIdVpor, Inst::kIdVporq, a, b);
    case ScalarOp::bit_xor:
      return pair_binary(Inst::kIdVpxor, Inst::kIdVpxorq, a, b);
    case ScalarOp::bit_not:
      return pair_binary(Inst::kIdVpxor, Inst::kIdVpxorq, a, halves_of(type, literal64(~uint64_t{0})));
    default:
      break;
  }
  if (type != ElementType::i64) refuse_operation(op, type);
  switch (op) {
    case ScalarOp::abs: {
      const LaneValue negative = pair_binary(Inst::kIdVpsubq, Inst::kIdVpsubq, zero(), a);
      return pair_select(wide_integer_comparison(ScalarOp::less, a, zero()), halves_of(type, negative), a);
    }
    case ScalarOp::min:
      return pair_select(wide_integer_comparison(ScalarOp::less, a, b), a, b);
    case ScalarOp::max:
      return pair_select(wide_integer_comparison(ScalarOp::greater, a, b), a, b);
    default:
      refuse_operation(op, type);
  }
}

LaneValue TypedLanes::wide_integer_comparison(ScalarOp op, const Two& a, const Two& b) {
  const bool swapped = op == ScalarOp::greater || op == ScalarOp::less_equal;
  const bool inverted =
      op == ScalarOp::not_equal || op == ScalarOp::less_equal || op == ScalarOp::greater_equal;
  const bool equality = op == ScalarOp::equal || op == ScalarOp::not_equal;
  const Two &first = swapped ? b : a, &second = swapped ? a : b;
  Two results;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    results[k] = lanes_.new_mask();
    // first < second, or their equality
    if (wide())
      cc_.emit(Inst::kIdVpcmpq, results[k].mask, first[k].vector, second[k].vector, imm(equality ? 0 : 1));
    else if (equality)
      cc_.emit(Inst::kIdVpcmpeqq, results[k].vector, first[k].vector, second[k].vector);
    else
      cc_.emit(Inst::kIdVpcmpgtq, results[k].vector, second[k].vector, first[k].vector);
  }
  const LaneValue result = join_masks(results[0], results[1]);
  return inverted ? apply(Opcode::mask_not, result) : result;
}

/// f32 or f64 to i64; the least integer where out of range. Lane by lane where there is no instruction for
/// more.
TypedLanes::Two TypedLanes::truncated(ElementType from, const LaneValue& value) {
  const bool single = from == ElementType::f32;
  if (wide()) {
    if (single) return in_halves(Inst::kIdVcvttps2qq, value);
    const Two x = halves_of(from, value);
    const LaneValue both = joined(lanes_.new_vector(), lanes_.new_vector());
    cc_.emit(Inst::kIdVcvttpd2qq, both.vector, x[0].vector);
    cc_.emit(Inst::kIdVcvttpd2qq, both.upper, x[1].vector);
    return halves_of(ElementType::i64, both);
  }
  const int bytes = single ? 4 : 8;
  const Mem floats = cc_.newStack(static_cast<uint32_t>(count() * bytes), 64);
  const Mem integers = cc_.newStack(static_cast<uint32_t>(count() * 8), 64);
  store(from, floats, value, {}, 0);
  const Gp integer = cc_.newGpq();
  for (int lane = 0; lane < count(); ++lane) {
    const Mem element = floats.cloneAdjusted(lane * bytes).cloneResized(static_cast<uint32_t>(bytes));
    cc_.emit(single ? Inst::kIdVcvttss2si : Inst::kIdVcvttsd2si, integer, element);
    cc_.mov(integers.cloneAdjusted(lane * 8).cloneResized(8), integer);
  }
  return halves_of(ElementType::i64, load(ElementType::i64, integers, {}, 0));
}

LaneValue TypedLanes::to_i64(ElementType from, const LaneValue& value) {
  if (form_of(from) == Form::i64) return value;
  if (form_of(from) == Form::f32) {
    const LaneValue x = LaneValue::of(lanes_.in_register(value));
    const Two near = truncated(ElementType::f32, x);
    const LaneValue limit = lanes_.constant(std::bit_cast<uint32_t>(static_cast<float>(two_to_63)));
    const LaneValue large = apply(Opcode::less_equal, limit, x);
    const Two most = halves_of(ElementType::i64, literal64(~(uint64_t{1} << 63)));
    const LaneValue bounded = pair_select(large, most, near);
    return pair_select(apply(Opcode::equal, x, x), halves_of(ElementType::i64, bounded),
                       halves_of(ElementType::i64, literal64(0)));
  }
  if (from != ElementType::u32) return value;
  const Two extended = in_halves(Inst::kIdVpmovzxdq, value);
  return joined(extended[0].vector, extended[1].vector);
}

LaneValue TypedLanes::from_i64(ElementType to, bool saturate, const LaneValue& value) {
  const ElementType i64 = ElementType::i64;
  if (form_of(to) == Form::i64) {
    if (saturate) refuse_cast(i64, to);
    return value;
  }
  if (value.kind != Kind::pair) return convert(ElementType::i32, to, saturate, value);
  if (form_of(to) == Form::f32) {
    if (to != ElementType::f32) refuse_cast(i64, to);
    const Two halves = halves_of(i64, value);
    if (wide()) return halves_joined(Inst::kIdVcvtqq2ps, halves);
    return halves_joined(Inst::kIdVcvtpd2ps, halves_of(ElementType::f64, i64_as_f64(halves)));
  }
  LaneValue bounded = value;
  if (saturate) {
    bounded = wide_integer_operation(ScalarOp::max, i64, bounded, literal(i64, ir::integer_min(to)));
    bounded = wide_integer_operation(ScalarOp::min, i64, bounded, literal(i64, ir::integer_max(to)));
    return narrowed(bounded);
  }
  return wrapped(to, narrowed(bounded));
}

// f64
// ---------------------------------------------------------------------------------------------------------

/// The nearest ones. Without an instruction for it: the halves become exponents of 2^52 and 2^84, so that
/// their sum rounds once.
LaneValue TypedLanes::i64_as_f64(const Two& value) {
  Vec results[2];
  const auto constant = [&](uint64_t bits) { return literal64(bits).vector; };
  for (const size_t k : {size_t{0}, size_t{1}}) {
    Vec& result = results[k] = lanes_.new_vector();
    if (wide()) {
      cc_.emit(Inst::kIdVcvtqq2pd, result, value[k].vector);
      continue;
    }
    const Vec upper = lanes_.new_vector(), lower = lanes_.new_vector();
    constexpr int odd_words_of_32 = 0xaa;
    cc_.emit(Inst::kIdVpsrlq, upper, value[k].vector, imm(32));
    cc_.emit(Inst::kIdVpxor, upper, upper, constant(0x4530000080000000U));  // 2^84 + 2^63 + upper * 2^32
    cc_.emit(Inst::kIdVpblendd, lower, value[k].vector, constant(0x4330000000000000U), imm(odd_words_of_32));
    cc_.emit(Inst::kIdVsubpd, upper, upper, constant(0x4530000080100000U));  // 2^84 + 2^63 + 2^52
    cc_.emit(Inst::kIdVaddpd, result, upper, lower);
  }
  return joined(results[0], results[1]);
}

LaneValue TypedLanes::to_f64(ElementType from, const LaneValue& value) {
  switch (form_of(from)) {
    case Form::f32: {
      const Two halves = in_halves(Inst::kIdVcvtps2pd, value);
      return joined(halves[0].vector, halves[1].vector);
    }
    case Form::i64:
      if (from == ElementType::u64) refuse_cast(from, ElementType::f64);
      if (value.kind == Kind::pair) return i64_as_f64(halves_of(from, value));
      [[fallthrough]];
    case Form::i32: {
      if (from == ElementType::u32) return i64_as_f64(halves_of(ElementType::i64, to_i64(from, value)));
      const Two halves = in_halves(Inst::kIdVcvtdq2pd, value);
      return joined(halves[0].vector, halves[1].vector);
    }
    default:
      return value;
  }
}

LaneValue TypedLanes::from_f64(ElementType to, const LaneValue& value) {
  const Two x = halves_of(ElementType::f64, value);
  if (to == ElementType::f32) return halves_joined(Inst::kIdVcvtpd2ps, x);
  if (form_of(to) == Form::f32 || to == ElementType::u32 || to == ElementType::u64)
    refuse_cast(ElementType::f64, to);
  const auto bound = [&](double limit) { return halves_of(ElementType::f64, literal64(bits_of(limit))); };
  const LaneValue number = apply(Opcode::mask_not, f64_comparison(x, x, unordered_predicate));
  if (form_of(to) == Form::i64) {
    const Two near = truncated(ElementType::f64, value);
    const LaneValue large = f64_comparison(bound(two_to_63), x, less_equal_predicate);
    const Two most = halves_of(to, literal64(static_cast<uint64_t>(ir::integer_max(to))));
    const LaneValue bounded = pair_select(large, most, near);
    return pair_select(number, halves_of(to, bounded), halves_of(to, literal64(0)));
  }
  // The instructions answer their second operand for NaN.
  const auto low = static_cast<double>(ir::integer_min(to)), high = static_cast<double>(ir::integer_max(to));
  const LaneValue least = pair_binary(Inst::kIdVmaxpd, Inst::kIdVmaxpd, x, bound(low));
  const LaneValue bounded =
      pair_binary(Inst::kIdVminpd, Inst::kIdVminpd, halves_of(ElementType::f64, least), bound(high));
  const LaneValue integer = halves_joined(Inst::kIdVcvttpd2dq, halves_of(ElementType::f64, bounded));
  return lanes_.apply(Opcode::select, {number, integer, lanes_.constant(0)});
}

LaneValue TypedLanes::f64_comparison(const Two& a, const Two& b, int predicate) {
  Two results;
  for (const size_t k : {size_t{0}, size_t{1}}) {
    results[k] = lanes_.new_mask();
    cc_.emit(Inst::kIdVcmppd, lanes_.register_of(results[k]), a[k].vector, b[k].vector, imm(predicate));
  }
  return join_masks(results[0], results[1]);
}

LaneValue TypedLanes::f64_operation(ScalarOp op, const Two& a, const Two& b) {
  const auto unary = [&](InstId id) {
    const Vec lower = lanes_.new_vector(), upper = lanes_.new_vector();
    cc_.emit(id, lower, a[0].vector);
    cc_.emit(id, upper, a[1].vector);
    return joined(lower, upper);
  };
  const auto round = [&](int how) {
    const InstId id = wide() ? Inst::kIdVrndscalepd : Inst::kIdVroundpd;
    const Vec lower = lanes_.new_vector(), upper = lanes_.new_vector();
    cc_.emit(id, lower, a[0].vector, imm(how | suppress_exceptions));
    cc_.emit(id, upper, a[1].vector, imm(how | suppress_exceptions));
    return joined(lower, upper);
  };
  const auto bits = [&](uint64_t literal) { return halves_of(ElementType::f64, literal64(literal)); };
  constexpr uint64_t sign = uint64_t{1} << 63;
  // NaN where either is: the instructions answer their second operand there.
  const auto extreme = [&](InstId id) {
    const LaneValue chosen = pair_binary(id, id, a, b);
    const LaneValue nan = f64_comparison(a, a, unordered_predicate);
    return pair_select(nan, a, halves_of(ElementType::f64, chosen));
  };
  switch (op) {
    case ScalarOp::add:
      return pair_binary(Inst::kIdVaddpd, Inst::kIdVaddpd, a, b);
    case ScalarOp::sub:
      return pair_binary(Inst::kIdVsubpd, Inst::kIdVsubpd, a, b);
    case ScalarOp::mul:
      return pair_binary(Inst::kIdVmulpd, Inst::kIdVmulpd, a, b);
    case ScalarOp::div:
      return pair_binary(Inst::kIdVdivpd, Inst::kIdVdivpd, a, b);
    case ScalarOp::min:
      return extreme(Inst::kIdVminpd);
    case ScalarOp::max:
      return extreme(Inst::kIdVmaxpd);
    case ScalarOp::sqrt:
      return unary(Inst::kIdVsqrtpd);
    case ScalarOp::neg:
      return pair_binary(Inst::kIdVxorpd, Inst::kIdVxorpd, a, bits(sign));
    case ScalarOp::abs:
      return pair_binary(Inst::kIdVandpd, Inst::kIdVandpd, a, bits(~sign));
    case ScalarOp::round_even:
      return round(0);
    case ScalarOp::floor:
      return round(1);
    case ScalarOp::ceil:
      return round(2);
    case ScalarOp::truncate:
      return round(3);
    case ScalarOp::is_nan:
      return f64_comparison(a, a, unordered_predicate);
    case ScalarOp::equal:
      return f64_comparison(a, b, equal_predicate);
    case ScalarOp::not_equal:
      return f64_comparison(a, b, not_equal_predicate);
    case ScalarOp::less:
      return f64_comparison(a, b, less_predicate);
    case ScalarOp::less_equal:
      return f64_comparison(a, b, less_equal_predicate);
    case ScalarOp::greater:
      return f64_comparison(b, a, less_predicate);
    case ScalarOp::greater_equal:
      return f64_comparison(b, a, less_equal_predicate);
    default:
      refuse_operation(op, ElementType::f64);
  }
}

}  // namespace axrun::jit::x86
