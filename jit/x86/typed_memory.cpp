// Elements of every type in memory: read into the form that lanes hold them in, and written back.
#include "jit/x86/refuse.h"
#include "jit/x86/typed_lanes.h"

namespace axrun::jit::x86 {

using namespace asmjit;  // the names of registers, operands and instructions
namespace Inst = asmjit::x86::Inst;
using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
using ir::ElementType;
using ir::lane::Opcode;
using Kind = LaneValue::Kind;

namespace {

constexpr int round_to_nearest_even = 0;

int bytes_of(ElementType type) { return static_cast<int>(ir::size_of(type)); }

/// How elements of one or two bytes become lanes of 32 bits.
InstId extension_of(ElementType type) {
  if (type == ElementType::f16) return Inst::kIdVcvtph2ps;
  const bool byte = ir::size_of(type) == 1, is_signed = ir::is_signed_integer(type);
  if (byte) return is_signed ? Inst::kIdVpmovsxbd : Inst::kIdVpmovzxbd;
  return is_signed ? Inst::kIdVpmovsxwd : Inst::kIdVpmovzxwd;
}

bool is_whole(const LaneValue& mask, uint32_t bits, int count) {
  return !mask.defined() || bits == (uint32_t{1} << count) - 1;
}

}  // namespace

/// The mask's bits, lane 0 lowest.
Gp TypedLanes::bits_of_mask(const LaneValue& mask) {
  const Gp bits = cc_.newGpd();
  if (wide()) {
    // Not with kmovw: of a mask that asmjit has spilled it makes a load that writes a mask register.
    const Vec bytes = cc_.newXmm();
    cc_.vpmovm2b(bytes.xmm(), mask.mask);
    cc_.vpmovmskb(bits, bytes.xmm());
  } else {
    cc_.vmovmskps(bits, mask.vector);
  }
  return bits;
}

/// Code for each lane of the mask, one after the other.
void TypedLanes::for_lanes(const LaneValue& mask, uint32_t bits, const std::function<void(int lane)>& make) {
  const bool open = mask.defined() && bits == 0;
  Gp wanted;
  if (open) wanted = bits_of_mask(mask);
  for (int lane = 0; lane < count(); ++lane) {
    if (mask.defined() && !open && (bits >> lane & 1) == 0) continue;
    if (!open) {
      make(lane);
      continue;
    }
    const Label next = cc_.newLabel();
    cc_.bt(wanted, lane);
    cc_.jnc(next);
    make(lane);
    cc_.bind(next);
  }
}

/// Elements of one or two bytes, in memory or in an xmm (ymm) register. The mask is one of mask registers.
LaneValue TypedLanes::from_narrow(ElementType type, const Operand_& source, const LaneValue& mask) {
  const Vec result = lanes_.new_vector();
  if (mask.defined()) cc_.k(mask.mask).z();
  cc_.emit(extension_of(type), result, source);
  if (type == ElementType::bf16) return apply(Opcode::i32_shift_left, LaneValue::of(result), {}, 16);
  return LaneValue::of(result);
}

LaneValue TypedLanes::load(ElementType type, const Mem& from, const LaneValue& mask, uint32_t bits) {
  const int bytes = bytes_of(type);
  const Form form = form_of(type);
  if (bytes == 4) return lanes_.load(from, mask, bits);
  if (bytes == 8) {
    const Vec lower = lanes_.new_vector(), upper = lanes_.new_vector();
    const auto size = static_cast<uint32_t>(lower.size());
    const Mem first = from.cloneResized(size), second = from.cloneAdjusted(size).cloneResized(size);
    if (is_whole(mask, bits, count())) {
      cc_.emit(Inst::kIdVmovups, lower, first);
      cc_.emit(Inst::kIdVmovups, upper, second);
      return joined(lower, upper);
    }
    const Two masks = mask_halves(mask);
    if (wide()) {
      cc_.k(masks[0].mask).z();
      cc_.emit(Inst::kIdVmovupd, lower, first);
      cc_.k(masks[1].mask).z();
      cc_.emit(Inst::kIdVmovupd, upper, second);
    } else {
      cc_.emit(Inst::kIdVpmaskmovq, lower, masks[0].vector, first);
      cc_.emit(Inst::kIdVpmaskmovq, upper, masks[1].vector, second);
    }
    return joined(lower, upper);
  }
  if (form == Form::mask) {
    const bool whole = is_whole(mask, bits, count());
    if (wide() || whole) return lanes_.load_booleans(from, whole ? LaneValue{} : mask);
    const LaneValue elements = load(ElementType::u8, from, mask, bits);
    return integer_comparison(ir::ScalarOp::not_equal, ElementType::i32, elements, lanes_.constant(0));
  }
  const Mem whole = from.cloneResized(static_cast<uint32_t>(count() * bytes));
  if (wide() || is_whole(mask, bits, count()))
    return from_narrow(type, whole, is_whole(mask, bits, count()) ? LaneValue{} : mask);
  const Vec parts = cc_.newXmm();
  const auto apart = [&] {
    cc_.emit(Inst::kIdVpxor, parts, parts, parts);
    for_lanes(mask, bits, [&](int lane) {
      Mem element = from.cloneAdjusted(lane * bytes);
      element.setSize(static_cast<uint32_t>(bytes));
      cc_.emit(bytes == 1 ? Inst::kIdVpinsrb : Inst::kIdVpinsrw, parts, parts, element, imm(lane));
    });
  };
  if (bits != 0) {
    apart();
  } else {
    const bool eight = bytes == 1;
    lanes_.where_whole(
        mask,
        [&] {
          cc_.emit(eight ? Inst::kIdVmovq : Inst::kIdVmovups, parts, whole.cloneResized(eight ? 8 : 16));
        },
        [&](const Gp&) { apart(); });
  }
  return from_narrow(type, parts, {});
}

LaneValue TypedLanes::broadcast(ElementType type, const Mem& from, const LaneValue& mask) {
  if (mask.defined()) {
    // Nothing is read where no lane wants it.
    const Label done = cc_.newLabel();
    const Form form = form_of(type);
    const bool two = form == Form::i64 || form == Form::f64;
    const Vec lower = lanes_.fresh(lanes_.constant(0)),
              upper = two ? lanes_.fresh(lanes_.constant(0)) : Vec();
    const Gp wanted = bits_of_mask(mask);
    cc_.test(wanted, wanted);
    cc_.jz(done);
    LaneValue read = broadcast(type, from, {});
    if (form == Form::mask) read = mask_as_vector(read);
    cc_.emit(Inst::kIdVmovaps, lower, read.vector);
    if (two) cc_.emit(Inst::kIdVmovaps, upper, read.upper);
    cc_.bind(done);
    if (form == Form::mask) return apply(Opcode::mask_and, mask, vector_as_mask(LaneValue::of(lower)));
    const LaneValue all = two ? joined(lower, upper) : LaneValue::of(lower);
    return select(type, mask, all, two ? literal64(0) : lanes_.constant(0));
  }
  switch (bytes_of(type)) {
    case 4:
      return lanes_.broadcast(from);
    case 8: {
      const Vec both = lanes_.new_vector();
      cc_.emit(Inst::kIdVpbroadcastq, both, from.cloneResized(8));
      return joined(both, both);
    }
    default:
      break;
  }
  const bool byte = bytes_of(type) == 1;
  const Gp element = cc_.newGpd();
  const Mem place = from.cloneResized(byte ? 1 : 2);
  if (ir::is_signed_integer(type))
    cc_.movsx(element, place);
  else
    cc_.movzx(element, place);
  if (type == ElementType::bf16) cc_.shl(element, 16);
  const LaneValue all = lanes_.broadcast(element);
  if (type == ElementType::boolean)
    return integer_comparison(ir::ScalarOp::not_equal, ElementType::i32, all, lanes_.constant(0));
  if (type != ElementType::f16) return all;
  const Vec narrow = cc_.newXmm(), result = lanes_.new_vector();
  cc_.emit(Inst::kIdVmovd, narrow, element);
  cc_.emit(Inst::kIdVcvtph2ps, narrow, narrow);
  cc_.emit(Inst::kIdVbroadcastss, result, narrow);
  return LaneValue::of(result);
}

LaneValue TypedLanes::load_apart(ElementType type, const Gp& place, const Gp& step, const LaneValue& mask,
                                 uint32_t bits) {
  const int bytes = bytes_of(type);
  const Mem stack = cc_.newStack(static_cast<uint32_t>(count() * bytes), 64);
  const Gp element = bytes == 8 ? cc_.newGpq() : cc_.newGpd();
  const bool open = mask.defined() && bits == 0;
  const Gp wanted = open ? bits_of_mask(mask) : Gp();
  for (int lane = 0; lane < count(); ++lane) {
    if (lane > 0) cc_.add(place, step);
    const bool left_out = mask.defined() && !open && (bits >> lane & 1) == 0;
    const Label absent = cc_.newLabel();
    if (open || left_out) cc_.xor_(element, element);
    if (open) {
      cc_.bt(wanted, lane);
      cc_.jnc(absent);
    }
    const Mem from = asmjit::x86::ptr(place, 0, static_cast<uint32_t>(bytes));
    if (!left_out) {
      if (bytes < 4)
        cc_.movzx(element, from);
      else
        cc_.mov(element, from);
    }
    cc_.bind(absent);
    Mem to = stack.cloneAdjusted(lane * bytes);
    to.setSize(static_cast<uint32_t>(bytes));
    if (bytes == 1)
      cc_.mov(to, element.r8());
    else if (bytes == 2)
      cc_.mov(to, element.r16());
    else
      cc_.mov(to, element);
  }
  return load(type, stack, {}, 0);
}

LaneValue TypedLanes::load_every_other_byte(ElementType type, const Mem& from, int first, uint32_t bits) {
  constexpr uint8_t nothing = 0x80;
  std::array<uint8_t, 16> places;
  places.fill(nothing);
  for (int lane = 0; lane < count(); ++lane) {
    if ((bits >> lane & 1) != 0) places[static_cast<size_t>(lane)] = static_cast<uint8_t>(first + 2 * lane);
  }
  const Vec bytes = cc_.newXmm();
  cc_.emit(Inst::kIdVmovups, bytes, from.cloneResized(16));
  cc_.emit(Inst::kIdVpshufb, bytes, bytes,
           cc_.newConst(ConstPoolScope::kLocal, places.data(), places.size()));
  return from_narrow(type, bytes, {});
}

/// Elements of one or two bytes out of lanes of 256 bits: as many as there are, in the lower half of the
/// register, or its lowest quarter.
Vec TypedLanes::packed(ElementType type, const LaneValue& value) {
  const Vec result = cc_.newXmm();
  if (type == ElementType::f16) {
    cc_.emit(Inst::kIdVcvtps2ph, result, lanes_.in_register(value), imm(round_to_nearest_even));
    return result;
  }
  LaneValue lanes = value;
  if (type == ElementType::bf16) lanes = apply(Opcode::i32_shift_right, value, {}, 16);
  if (type == ElementType::boolean) lanes = LaneValue::of(value.vector);
  const Vec all = lanes_.in_register(lanes), upper = cc_.newXmm();
  // Saturates nothing: every lane is within its type.
  const bool is_signed = ir::is_signed_integer(type) || type == ElementType::boolean;
  cc_.emit(Inst::kIdVextractf128, upper, all, imm(1));
  cc_.emit(is_signed ? Inst::kIdVpackssdw : Inst::kIdVpackusdw, result, all.xmm(), upper);
  if (bytes_of(type) == 2) return result;
  cc_.emit(is_signed ? Inst::kIdVpacksswb : Inst::kIdVpackuswb, result, result, result);
  if (type == ElementType::boolean) cc_.emit(Inst::kIdVpabsb, result, result);
  return result;
}

void TypedLanes::store(ElementType type, const Mem& to, const LaneValue& value, const LaneValue& mask,
                       uint32_t bits) {
  const int bytes = bytes_of(type);
  if (bytes == 4) return lanes_.store(to, value, mask, bits);
  const bool whole = is_whole(mask, bits, count());
  if (bytes == 8) {
    const Two halves = halves_of(type, value);
    const auto size = static_cast<uint32_t>(halves[0].vector.size());
    const Mem first = to.cloneResized(size), second = to.cloneAdjusted(size).cloneResized(size);
    const Two masks = whole ? Two{} : mask_halves(mask);
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const Mem& place = k == 0 ? first : second;
      if (whole) {
        cc_.emit(Inst::kIdVmovups, place, halves[k].vector);
      } else if (wide()) {
        cc_.k(masks[k].mask);
        cc_.emit(Inst::kIdVmovupd, place, halves[k].vector);
      } else {
        lanes_.where_whole(
            masks[k], [&] { cc_.emit(Inst::kIdVmovups, place, halves[k].vector); },
            [&](const Gp&) { cc_.emit(Inst::kIdVpmaskmovq, place, masks[k].vector, halves[k].vector); });
      }
    }
    return;
  }
  if (wide()) {
    if (type == ElementType::boolean) return lanes_.store_bytes(to, value, whole ? LaneValue{} : mask);
    const Vec lanes = type == ElementType::bf16 ? apply(Opcode::i32_shift_right, value, {}, 16).vector
                                                : lanes_.in_register(value);
    const Mem place = to.cloneResized(static_cast<uint32_t>(count() * bytes));
    if (!whole) cc_.k(mask.mask);
    if (type == ElementType::f16)
      cc_.emit(Inst::kIdVcvtps2ph, place, lanes, imm(round_to_nearest_even));
    else
      cc_.emit(bytes == 1 ? Inst::kIdVpmovdb : Inst::kIdVpmovdw, place, lanes);
    return;
  }
  const Vec elements = packed(type, value);
  const auto all = [&] {
    cc_.emit(bytes == 1 ? Inst::kIdVmovq : Inst::kIdVmovups, to.cloneResized(bytes == 1 ? 8 : 16), elements);
  };
  if (whole) return all();
  const auto apart = [&] {
    for_lanes(mask, bits, [&](int lane) {
      Mem place = to.cloneAdjusted(lane * bytes);
      place.setSize(static_cast<uint32_t>(bytes));
      cc_.emit(bytes == 1 ? Inst::kIdVpextrb : Inst::kIdVpextrw, place, elements, imm(lane));
    });
  };
  if (bits != 0) return apart();
  lanes_.where_whole(mask, all, [&](const Gp&) { apart(); });
}

void TypedLanes::store_bytes_of_two(ElementType type, const Mem& to, const LaneValue& first,
                                    const LaneValue& second, int64_t added) {
  // Lanes 0..3 of both, then 4..7: instructions pack halves by themselves.
  constexpr int middle_parts_exchanged = 0xd8;
  const bool is_signed = ir::is_signed_integer(type);
  const Vec words = lanes_.new_vector(), upper = cc_.newXmm(), bytes = cc_.newXmm();
  cc_.emit(Inst::kIdVpackssdw, words, lanes_.in_register(first), lanes_.in_register(second));
  if (added != 0) {
    const auto both = static_cast<uint32_t>(added & 0xffff) * 0x10001U;
    cc_.emit(Inst::kIdVpaddsw, words, words, lanes_.in_register(lanes_.constant(both)));
  }
  cc_.emit(Inst::kIdVextractf128, upper, words, imm(1));
  cc_.emit(is_signed ? Inst::kIdVpacksswb : Inst::kIdVpackuswb, bytes, words.xmm(), upper);
  cc_.emit(Inst::kIdVpshufd, bytes, bytes, imm(middle_parts_exchanged));
  cc_.emit(Inst::kIdVmovups, to.cloneResized(16), bytes);
}

void TypedLanes::store_first(ElementType type, const Mem& to, const LaneValue& value) {
  switch (bytes_of(type)) {
    case 4:
      return lanes_.store_first(to, value);
    case 8:
      cc_.emit(Inst::kIdVmovq, to.cloneResized(8), halves_of(type, value)[0].vector.xmm());
      return;
    default:
      break;
  }
  if (type == ElementType::boolean) {
    const Gp bits = bits_of_mask(value);
    cc_.and_(bits, 1);
    cc_.mov(to.cloneResized(1), bits.r8());
    return;
  }
  // Not through vmovd to a general register: of a vector that asmjit has spilled it makes a load.
  Vec source = lanes_.in_register(value).xmm();
  if (type == ElementType::f16) {
    const Vec half = cc_.newXmm();
    cc_.emit(Inst::kIdVcvtps2ph, half, source, imm(round_to_nearest_even));
    source = half;
  }
  const bool byte = bytes_of(type) == 1;
  cc_.emit(byte ? Inst::kIdVpextrb : Inst::kIdVpextrw, to.cloneResized(byte ? 1 : 2), source,
           imm(type == ElementType::bf16 ? 1 : 0));
}

LaneValue TypedLanes::mask_as_vector(const LaneValue& mask) {
  if (!wide()) return LaneValue::of(mask.vector);
  const Vec result = lanes_.new_vector();
  cc_.emit(Inst::kIdVpmovm2d, result, mask.mask);
  return LaneValue::of(result);
}

LaneValue TypedLanes::vector_as_mask(const LaneValue& vector) {
  const Vec source = lanes_.in_register(vector);
  if (!wide()) return LaneValue::of_mask(source);
  const LaneValue result = lanes_.new_mask();
  cc_.emit(Inst::kIdVpmovd2m, result.mask, source);
  return result;
}

}  // namespace axrun::jit::x86
