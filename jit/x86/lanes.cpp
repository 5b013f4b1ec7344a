#include "jit/x86/lanes.h"

#include <algorithm>
#include <array>

#include "ir/error.h"

namespace axrun::jit::x86 {

using namespace asmjit;  // the names of registers, operands and instructions
namespace Inst = asmjit::x86::Inst;
using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
using ir::lane::Opcode;
using Kind = LaneValue::Kind;

namespace {

// Predicates of vcmpps: quiet; NaN is true for the last two.
constexpr int equal_predicate = 0x00, less_predicate = 0x11, less_equal_predicate = 0x12,
              unordered_predicate = 0x03, not_less_predicate = 0x15;
constexpr int suppress_exceptions = 8;
// vpternlogd: where the first operand has a one the second, else the third.
constexpr int ternary_select = 0xca;
// vfixupimmps: NaNs, quiet and signalling ones, of the second operand; the first one's value elsewhere.
constexpr uint32_t keep_nans = 0x22;

/// Instructions of three operands that only write the first.
bool may_be_masked(InstId id) {
  constexpr InstId all[] = {Inst::kIdVaddps, Inst::kIdVsubps, Inst::kIdVmulps,    Inst::kIdVdivps,
                            Inst::kIdVminps, Inst::kIdVmaxps, Inst::kIdVscalefps, Inst::kIdVandps,
                            Inst::kIdVorps,  Inst::kIdVxorps, Inst::kIdVpaddd,    Inst::kIdVpsubd};
  return std::find(std::begin(all), std::end(all), id) != std::end(all);
}

}  // namespace

Vec Lanes::new_vector() { return wide_ ? Vec(cc_.newZmm()) : Vec(cc_.newYmm()); }

LaneValue Lanes::new_mask() {
  return wide_ ? LaneValue::of_mask(cc_.newKw()) : LaneValue::of_mask(new_vector());
}

const Operand_& Lanes::register_of(const LaneValue& mask) const {
  AXRUN_ASSERT(mask.kind == Kind::mask);
  if (wide_) return mask.mask;
  return mask.vector;
}

Vec Lanes::in_register(const LaneValue& a) {
  if (a.kind == Kind::vector) return a.vector;
  AXRUN_ASSERT(a.kind == Kind::constant);
  const auto held = held_.find(a.bits);
  if (held != held_.end()) return held->second;
  const Vec vector = new_vector();
  if (a.bits == 0) {
    cc_.emit(wide_ ? Inst::kIdVpxord : Inst::kIdVpxor, vector, vector, vector);
  } else if (a.bits == 0xffffffffU && !wide_) {
    cc_.emit(Inst::kIdVpcmpeqd, vector, vector, vector);
  } else {
    bring(vector, a.bits);
  }
  return vector;
}

/// A whole vector lies in memory where it does for instructions that read it: to broadcast takes a unit that
/// computes on some processors (AMD's Zen 3).
void Lanes::bring(const Vec& to, uint32_t bits) {
  if (wide_) {
    cc_.emit(Inst::kIdVbroadcastss, to, cc_.newUInt32Const(ConstPoolScope::kLocal, bits));
  } else {
    cc_.emit(Inst::kIdVmovups, to, whole_vector(bits));
  }
}

asmjit::x86::Mem Lanes::whole_vector(uint32_t bits) {
  std::array<uint32_t, 8> lanes;
  lanes.fill(bits);
  return cc_.newConst(ConstPoolScope::kLocal, lanes.data(), sizeof(lanes));
}

Vec Lanes::fresh(const LaneValue& a) {
  if (a.kind == Kind::constant && held_.count(a.bits) == 0) return in_register(a);
  const Vec vector = new_vector();
  cc_.emit(Inst::kIdVmovaps, vector, in_register(a));
  return vector;
}

void Lanes::copy(const Vec& to, const LaneValue& from) {
  if (from.kind == Kind::constant && held_.count(from.bits) != 0) {
    cc_.emit(Inst::kIdVmovaps, to, held_.at(from.bits));
  } else if (from.kind == Kind::constant && from.bits == 0) {
    cc_.emit(wide_ ? Inst::kIdVpxord : Inst::kIdVpxor, to, to, to);
  } else if (from.kind == Kind::constant) {
    bring(to, from.bits);
  } else {
    cc_.emit(Inst::kIdVmovaps, to, from.vector);
  }
}

void Lanes::hold(const std::vector<uint32_t>& constants) {
  for (const uint32_t bits : constants) {
    const Vec vector = in_register(constant(bits));
    held_[bits] = vector;
  }
}

void Lanes::release(const std::vector<uint32_t>& constants) {
  for (const uint32_t bits : constants) held_.erase(bits);
}

/// What may stand last in an instruction: a register, or a constant in memory.
Operand_ Lanes::last_operand(const LaneValue& a) {
  if (a.kind != Kind::constant || a.bits == 0 || held_.count(a.bits) != 0) return in_register(a);
  if (wide_) return cc_.newUInt32Const(ConstPoolScope::kLocal, a.bits)._1to16();
  return whole_vector(a.bits);
}

LaneValue Lanes::emit(InstId narrow, InstId wide, const LaneValue& a, const LaneValue& b) {
  const Vec result = new_vector();
  const Vec first = in_register(a);
  cc_.emit(wide_ ? wide : narrow, result, first, last_operand(b));
  return LaneValue::of(result);
}

LaneValue Lanes::compare(const LaneValue& a, const LaneValue& b, int predicate) {
  const Vec first = in_register(a);
  const LaneValue result = new_mask();
  cc_.emit(Inst::kIdVcmpps, register_of(result), first, last_operand(b), imm(predicate));
  return result;
}

/// The result goes where an operand dies, or a constant was brought for this operation only; else into a
/// copy.
LaneValue Lanes::multiply_add(const std::array<LaneValue, 3>& arguments) {
  auto [a, b, c] = arguments;
  const auto may_be_overwritten = [](const LaneValue& v) { return v.kind == Kind::vector && v.dies; };
  if (may_be_overwritten(c)) {
    if (a.kind == Kind::constant) std::swap(a, b);
    const Vec first = in_register(a);
    cc_.emit(Inst::kIdVfmadd231ps, c.vector, first, last_operand(b));
    return LaneValue::of(c.vector);
  }
  if (!may_be_overwritten(a) && (may_be_overwritten(b) || a.kind == Kind::constant)) std::swap(a, b);
  if (!may_be_overwritten(a) && b.kind == Kind::constant) std::swap(a, b);
  const Vec result = may_be_overwritten(a) ? a.vector : fresh(a);
  const Vec factor = in_register(b);
  cc_.emit(Inst::kIdVfmadd213ps, result, factor, last_operand(c));
  return LaneValue::of(result);
}

/// a * 2^b, in the domain of Opcode::scale.
LaneValue Lanes::scale(const LaneValue& a, const LaneValue& b) {
  if (wide_) return emit(Inst::kIdVscalefps, Inst::kIdVscalefps, a, b);
  // 2^b has too wide a range for one factor: half of it is added to the exponent's field, exactly, and the
  // product with the rest rounds.
  const LaneValue n = apply(Opcode::to_i32_nearest, {b, {}, {}});
  const LaneValue half = apply(Opcode::i32_shift_right_arithmetic, {n, {}, {}}, 1);
  const LaneValue rest = apply(Opcode::i32_sub, {n, half, {}});
  const LaneValue scaled = apply(Opcode::i32_add, {a, apply(Opcode::i32_shift_left, {half, {}, {}}, 23), {}});
  const LaneValue exponent = apply(Opcode::i32_add, {rest, constant(127), {}});
  return apply(Opcode::mul, {scaled, apply(Opcode::i32_shift_left, {exponent, {}, {}}, 23), {}});
}

/// The value where the mask is, else 0: where the instruction that made the value is the latest one, and
/// nothing else reads it, that one leaves the other lanes 0.
LaneValue Lanes::or_zero(const LaneValue& mask, const LaneValue& value) {
  if (!wide_) return emit(Inst::kIdVandps, Inst::kIdVandps, LaneValue::of(mask.vector), value);
  BaseNode* latest = cc_.cursor();
  if (value.kind == Kind::vector && value.dies && latest->isInst()) {
    InstNode& instruction = *latest->as<InstNode>();
    const bool writes_only = instruction.opCount() == 3 && instruction.op(0) == value.vector &&
                             !instruction.hasExtraReg() && !(instruction.op(1) == value.vector);
    if (writes_only && may_be_masked(instruction.id())) {
      instruction.setExtraReg(mask.mask);
      instruction.addOptions(InstOptions::kX86_ZMask);
      return value;
    }
  }
  const Vec source = in_register(value);
  const Vec result = new_vector();
  cc_.k(mask.mask).z();
  cc_.emit(Inst::kIdVmovaps, result, source);
  return LaneValue::of(result);
}

LaneValue Lanes::round(const LaneValue& a, int how) {
  const Vec result = new_vector();
  cc_.emit(wide_ ? Inst::kIdVrndscaleps : Inst::kIdVroundps, result, in_register(a),
           imm(how | suppress_exceptions));
  return LaneValue::of(result);
}

LaneValue Lanes::apply(Opcode opcode, const std::array<LaneValue, 3>& arguments, uint32_t literal) {
  const LaneValue &a = arguments[0], &b = arguments[1], &c = arguments[2];
  const auto unary = [&](InstId id) {
    const Vec result = new_vector();
    cc_.emit(id, result, in_register(a));
    return LaneValue::of(result);
  };
  const auto shift = [&](InstId id) {
    const Vec result = new_vector();
    cc_.emit(id, result, in_register(a), imm(literal));
    return LaneValue::of(result);
  };
  // A constant is cheaper as the last operand; only where the order does not matter, even for NaN.
  const auto commuting = [&](InstId id) {
    return a.kind == Kind::constant ? emit(id, id, b, a) : emit(id, id, a, b);
  };
  switch (opcode) {
    case Opcode::constant:
    case Opcode::i32_constant:
      return constant(literal);
    case Opcode::add:
      return commuting(Inst::kIdVaddps);
    case Opcode::sub:
      return emit(Inst::kIdVsubps, Inst::kIdVsubps, a, b);
    case Opcode::mul:
      return commuting(Inst::kIdVmulps);
    case Opcode::div:
      return emit(Inst::kIdVdivps, Inst::kIdVdivps, a, b);
    case Opcode::fma:
      return multiply_add(arguments);
    case Opcode::sqrt:
      return unary(Inst::kIdVsqrtps);
    case Opcode::min:
      return emit(Inst::kIdVminps, Inst::kIdVminps, a, b);
    case Opcode::max:
      return emit(Inst::kIdVmaxps, Inst::kIdVmaxps, a, b);
    case Opcode::neg:
      return emit(Inst::kIdVxorps, Inst::kIdVxorps, a, constant(0x80000000U));
    case Opcode::abs:
      return emit(Inst::kIdVandps, Inst::kIdVandps, a, constant(0x7fffffffU));
    case Opcode::copysign: {
      if (wide_) {
        const Vec result = fresh(constant(0x80000000U));
        const Vec sign = in_register(b);
        cc_.emit(Inst::kIdVpternlogd, result, sign, last_operand(a), imm(ternary_select));
        return LaneValue::of(result);
      }
      const LaneValue magnitude = emit(Inst::kIdVandps, Inst::kIdVandps, a, constant(0x7fffffffU));
      const LaneValue sign = emit(Inst::kIdVandps, Inst::kIdVandps, b, constant(0x80000000U));
      return emit(Inst::kIdVorps, Inst::kIdVorps, magnitude, sign);
    }
    case Opcode::round_even:
      return round(a, 0);
    case Opcode::floor:
      return round(a, 1);
    case Opcode::select:
    case Opcode::i32_select: {
      if (c.kind == Kind::constant && c.bits == 0) return or_zero(a, b);
      if (wide_) {
        // Not vblendmps: to the register allocator a masked destination is read as well.
        const Vec result = c.kind == Kind::vector && c.dies ? c.vector : fresh(c);
        const Vec chosen = in_register(b);
        cc_.k(a.mask);
        cc_.emit(Inst::kIdVmovaps, result, chosen);
        return LaneValue::of(result);
      }
      const Vec result = new_vector();
      const Vec otherwise = in_register(c);
      cc_.emit(Inst::kIdVblendvps, result, otherwise, last_operand(b), a.vector);
      return LaneValue::of(result);
    }
    case Opcode::where:
      // Masks cost 512-bit operations nothing, and `scale` there takes any number.
      return wide_ ? b : or_zero(a, b);
    case Opcode::equal:
      return compare(a, b, equal_predicate);
    case Opcode::less:
      return compare(a, b, less_predicate);
    case Opcode::less_equal:
      return compare(a, b, less_equal_predicate);
    case Opcode::unordered:
      return compare(a, b, unordered_predicate);
    case Opcode::not_less:
      return compare(a, b, not_less_predicate);
    case Opcode::scale:
      return scale(a, b);
    case Opcode::to_i32_nearest:
      return unary(Inst::kIdVcvtps2dq);
    case Opcode::to_i32_truncate:
      return unary(Inst::kIdVcvttps2dq);
    case Opcode::i32_to_f32:
      return unary(Inst::kIdVcvtdq2ps);
    case Opcode::bits:
    case Opcode::from_bits:
      return a;
    case Opcode::i32_add:
      return commuting(Inst::kIdVpaddd);
    case Opcode::i32_sub:
      return emit(Inst::kIdVpsubd, Inst::kIdVpsubd, a, b);
    case Opcode::i32_mul:
      return commuting(Inst::kIdVpmulld);
    case Opcode::i32_and:
      return emit(Inst::kIdVpand, Inst::kIdVpandd, a, b);
    case Opcode::i32_or:
      return emit(Inst::kIdVpor, Inst::kIdVpord, a, b);
    case Opcode::i32_xor:
      return emit(Inst::kIdVpxor, Inst::kIdVpxord, a, b);
    case Opcode::i32_shift_left:
      return shift(Inst::kIdVpslld);
    case Opcode::i32_shift_right:
      return shift(Inst::kIdVpsrld);
    case Opcode::i32_shift_right_arithmetic:
      return shift(Inst::kIdVpsrad);
    case Opcode::i32_equal:
    case Opcode::i32_less: {
      const bool less = opcode == Opcode::i32_less;
      const LaneValue result = new_mask();
      if (wide_) {
        const Vec first = in_register(a);
        cc_.emit(Inst::kIdVpcmpd, result.mask, first, last_operand(b), imm(less ? 1 : 0));
      } else {
        const Vec first = in_register(less ? b : a);
        cc_.emit(less ? Inst::kIdVpcmpgtd : Inst::kIdVpcmpeqd, result.vector, first,
                 last_operand(less ? a : b));
      }
      return result;
    }
    case Opcode::mask_and:
    case Opcode::mask_or:
    case Opcode::mask_xor: {
      constexpr InstId wide[] = {Inst::kIdKandw, Inst::kIdKorw, Inst::kIdKxorw};
      constexpr InstId narrow[] = {Inst::kIdVandps, Inst::kIdVorps, Inst::kIdVxorps};
      const auto index = static_cast<size_t>(opcode) - static_cast<size_t>(Opcode::mask_and);
      const LaneValue result = new_mask();
      cc_.emit((wide_ ? wide : narrow)[index], register_of(result), register_of(a), register_of(b));
      return result;
    }
    case Opcode::mask_not: {
      const LaneValue result = new_mask();
      if (wide_)
        cc_.emit(Inst::kIdKnotw, result.mask, a.mask);
      else
        cc_.emit(Inst::kIdVxorps, result.vector, a.vector, last_operand(constant(0xffffffffU)));
      return result;
    }
    case Opcode::lookup:  // lookup()
    case Opcode::input:
    case Opcode::i32_input:
      break;
  }
  AXRUN_ASSERT(false);
}

LaneValue Lanes::upper_half(const LaneValue& index) {
  if (wide_) return {};
  return apply(Opcode::i32_shift_left, {index, {}, {}}, 28);
}

LaneValue Lanes::lookup(const LaneValue& index, const LaneValue& upper_half, const ir::lane::Table& table) {
  const Vec place = in_register(index);
  const auto entries = [&](size_t first) {
    const auto bytes = static_cast<size_t>(count()) * sizeof(uint32_t);
    const Vec result = new_vector();
    cc_.emit(Inst::kIdVpermps, result, place, cc_.newConst(ConstPoolScope::kLocal, &table[first], bytes));
    return result;
  };
  const Vec lower = entries(0);
  if (wide_) return LaneValue::of(lower);
  const Vec upper = entries(8);
  cc_.emit(Inst::kIdVblendvps, lower, lower, upper, upper_half.vector);
  return LaneValue::of(lower);
}

LaneValue Lanes::all_or_nothing(bool all) {
  if (!wide_) return LaneValue::of_mask(fresh(constant(all ? 0xffffffffU : 0)));
  const LaneValue result = new_mask();
  cc_.emit(all ? Inst::kIdKxnorw : Inst::kIdKxorw, result.mask, result.mask, result.mask);
  return result;
}

LaneValue Lanes::minimum_or_maximum(bool maximum, const LaneValue& a, const LaneValue& b) {
  // The instruction answers its second operand where either is NaN: a constant that is none goes first.
  const InstId id = maximum ? Inst::kIdVmaxps : Inst::kIdVminps;
  const auto is_number = [](const LaneValue& v) {
    return v.kind == Kind::constant && (v.bits & 0x7fffffffU) <= 0x7f800000U;
  };
  if (is_number(a)) return emit(id, id, a, b);
  if (is_number(b)) return emit(id, id, b, a);
  const LaneValue chosen = emit(id, id, b, a);
  put_nans(chosen.vector, b, {});
  return chosen;
}

/// NaN where `from` is and the mask, if there is one.
void Lanes::put_nans(const Vec& into, const LaneValue& from, const LaneValue& mask) {
  const Vec source = in_register(from);
  if (wide_) {
    if (mask.defined()) cc_.k(mask.mask);
    cc_.emit(Inst::kIdVfixupimmps, into, source, last_operand(constant(keep_nans)), imm(0));
    return;
  }
  const Vec nans = new_vector();  // all ones is one
  cc_.emit(Inst::kIdVcmpps, nans, source, source, imm(unordered_predicate));
  cc_.emit(Inst::kIdVorps, into, into, nans);
}

LaneValue Lanes::first_lanes(const Gp& rest) {
  const Gp bounded = cc_.newGpq();
  const Gp limit = cc_.newGpq();
  cc_.xor_(bounded, bounded);
  cc_.cmp(rest, 0);
  cc_.cmovg(bounded, rest);
  cc_.mov(limit, count());
  cc_.cmp(bounded, limit);
  cc_.cmovg(bounded, limit);
  if (wide_) {
    const Gp bits = cc_.newGpd();
    cc_.mov(bits, 0xffff);
    cc_.bzhi(bits, bits, bounded.r32());
    const LaneValue result = new_mask();
    cc_.kmovw(result.mask, bits);
    return result;
  }
  const Vec wanted = new_vector();
  cc_.emit(Inst::kIdVmovd, wanted.xmm(), bounded.r32());
  cc_.emit(Inst::kIdVpbroadcastd, wanted, wanted.xmm());
  const LaneValue result = new_mask();
  cc_.emit(Inst::kIdVpcmpgtd, result.vector, wanted, iota());
  return result;
}

LaneValue Lanes::first_lanes(int64_t rest) {
  return literal_mask((uint32_t{1} << std::clamp<int64_t>(rest, 0, count())) - 1);
}

LaneValue Lanes::literal_mask(uint32_t bits) {
  const LaneValue result = new_mask();
  if (wide_) {
    const Gp general = cc_.newGpd();
    cc_.mov(general, bits);
    cc_.kmovw(result.mask, general);
    return result;
  }
  std::array<uint32_t, 8> lanes = {};
  for (size_t k = 0; k < lanes.size(); ++k) lanes[k] = (bits >> k & 1) != 0 ? 0xffffffffU : 0;
  cc_.emit(Inst::kIdVmovups, result.vector,
           cc_.newConst(ConstPoolScope::kLocal, lanes.data(), sizeof(lanes)));
  return result;
}

Vec Lanes::iota() {
  std::array<uint32_t, 16> lanes;
  for (uint32_t k = 0; k < lanes.size(); ++k) lanes[k] = k;
  const Vec vector = new_vector();
  const Mem memory =
      cc_.newConst(ConstPoolScope::kLocal, lanes.data(), static_cast<size_t>(count()) * sizeof(uint32_t));
  cc_.emit(Inst::kIdVmovups, vector, memory);
  return vector;
}

void Lanes::keep_where(const Vec& target, const LaneValue& value, const LaneValue& mask) {
  if (!mask.defined()) {
    copy(target, value);
  } else if (wide_) {
    const Vec source = in_register(value);
    cc_.k(mask.mask);
    cc_.emit(Inst::kIdVmovaps, target, source);
  } else {
    cc_.emit(Inst::kIdVblendvps, target, target, last_operand(value), mask.vector);
  }
}

}  // namespace axrun::jit::x86
