// Vectors from memory and to it: whole, masked, broadcast, gathered, converted.
#include <algorithm>
#include <array>

#include "jit/x86/lanes.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using namespace asmjit;  // the names of registers, operands and instructions
namespace Inst = asmjit::x86::Inst;
using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
using Kind = LaneValue::Kind;

namespace {

/// The narrowest part of a register that holds the lanes: what is left out costs nothing then, not even where
/// it crosses into another cache line.
Vec part_of(const Vec& vector, uint32_t bits) {
  constexpr uint32_t four_lanes = 0xf, eight_lanes = 0xff;
  if (bits == 0 || bits > eight_lanes) return vector;
  return bits > four_lanes ? Vec(vector.ymm()) : Vec(vector.xmm());
}

/// Stores the lanes of a vector of eight, as few at a time as they lie side by side.
void store_pieces(asmjit::x86::Compiler& cc, const Mem& to, const Vec& source, uint32_t bits) {
  constexpr uint32_t half = 0xf, lower = 0x3, upper = 0xc;
  const auto store = [&](uint32_t lanes, const Mem& place, const Vec& four) {
    if (lanes == half) return (void)cc.emit(Inst::kIdVmovups, place.cloneResized(16), four);
    for (const uint32_t pair : {lower, upper}) {
      const int first = pair == lower ? 0 : 2;
      if ((lanes & pair) == pair) {
        cc.emit(first == 0 ? Inst::kIdVmovlps : Inst::kIdVmovhps,
                place.cloneAdjusted(first * 4).cloneResized(8), four);
        continue;
      }
      for (int lane = first; lane < first + 2; ++lane) {
        if ((lanes >> lane & 1) == 0) continue;
        const Mem one = place.cloneAdjusted(lane * 4).cloneResized(4);
        if (lane == 0)
          cc.emit(Inst::kIdVmovss, one, four);
        else
          cc.emit(Inst::kIdVextractps, one, four, imm(lane));
      }
    }
  };
  if ((bits & half) != 0) store(bits & half, to, source.xmm());
  if (bits >> 4 == 0) return;
  const Vec rest = cc.newXmm();
  cc.emit(Inst::kIdVextractf128, rest, source.ymm(), imm(1));
  store(bits >> 4, to.cloneAdjusted(16), rest);
}

bool is_whole(const Vec& part, uint32_t bits) { return bits == (uint64_t{1} << (part.size() / 4)) - 1; }

}  // namespace

LaneValue Lanes::load(const Mem& from, const LaneValue& mask, uint32_t bits) {
  const Vec result = new_vector();
  const Vec part = part_of(result, bits);
  const Mem place = from.cloneResized(part.size());
  if (!mask.defined() || is_whole(part, bits)) {
    cc_.emit(Inst::kIdVmovups, part, place);
  } else if (wide_) {
    cc_.k(mask.mask).z();
    cc_.emit(Inst::kIdVmovups, part, place);
  } else {
    cc_.emit(Inst::kIdVmaskmovps, part, part_of(mask.vector, bits), place);
  }
  return LaneValue::of(result);
}

LaneValue Lanes::literals(const std::vector<uint32_t>& lanes) {
  const Vec result = new_vector();
  cc_.emit(Inst::kIdVmovups, result,
           cc_.newConst(ConstPoolScope::kLocal, lanes.data(), lanes.size() * sizeof(uint32_t)));
  return LaneValue::of(result);
}

LaneValue Lanes::every(int64_t step, const std::vector<LaneValue>& vectors) {
  const int reach = count() - 1;
  const bool complete =
      std::all_of(vectors.begin(), vectors.end(), [](const LaneValue& v) { return v.defined(); });
  // Where a lane lies in a vector; nothing where it lies in another one.
  const auto place_in = [&](size_t part, int lane) -> std::optional<uint32_t> {
    const int64_t place = lane * step - static_cast<int64_t>(part) * reach;
    const bool inside = place > 0 ? place <= reach : place == 0 && part == 0;
    return inside ? std::optional(static_cast<uint32_t>(place)) : std::nullopt;
  };
  // The first vector is put in order together with the second one.
  const bool two_at_once = complete && wide_;
  Vec result = two_at_once ? vectors[0].vector : fresh(constant(0));
  for (size_t part = two_at_once ? 1 : 0; part < vectors.size(); ++part) {
    if (!vectors[part].defined()) continue;
    std::array<uint32_t, 16> places = {};
    uint32_t here = 0;
    for (int lane = 0; lane <= reach; ++lane) {
      const auto at = static_cast<size_t>(lane);
      const auto place = place_in(part, lane);
      if (place) here |= uint32_t{1} << lane;
      const auto before =
          two_at_once && part == 1 ? place_in(0, lane) : std::optional(static_cast<uint32_t>(lane));
      places[at] = place ? *place + (wide_ ? static_cast<uint32_t>(count()) : 0) : before.value_or(0);
    }
    const Vec order = new_vector();
    cc_.emit(
        Inst::kIdVmovups, order,
        cc_.newConst(ConstPoolScope::kLocal, places.data(), static_cast<size_t>(count()) * sizeof(uint32_t)));
    if (wide_) {
      cc_.emit(Inst::kIdVpermt2ps, result, order, vectors[part].vector);
      continue;
    }
    const Vec moved = new_vector();
    cc_.emit(Inst::kIdVpermps, moved, order, vectors[part].vector);
    cc_.emit(Inst::kIdVblendps, result, result, moved, imm(here));
  }
  return LaneValue::of(result);
}

LaneValue Lanes::spread(const LaneValue& mask, int first, uint32_t pattern) {
  const LaneValue result = new_mask();
  if (wide_) {
    const Gp bits = cc_.newGpd(), places = cc_.newGpd();
    // Not with kmovw: of a mask that asmjit has spilled it makes a load that writes a mask register.
    const Vec bytes = new_vector();
    cc_.vpmovm2b(bytes.xmm(), mask.mask);
    cc_.vpmovmskb(bits, bytes.xmm());
    if (first != 0) cc_.shr(bits, first);
    cc_.mov(places, pattern);
    cc_.pdep(bits, bits, places);
    cc_.kmovw(result.mask, bits);
    return result;
  }
  std::vector<uint32_t> order;
  for (int element = 0, lane = first; element < count(); ++element)
    order.push_back(static_cast<uint32_t>((pattern >> element & 1) != 0 ? lane++ : 0));
  const LaneValue places = literals(order), wanted = literal_mask(pattern);
  cc_.emit(Inst::kIdVpermps, result.vector, places.vector, mask.vector);
  return apply(ir::lane::Opcode::mask_and, {result, wanted, {}});
}

LaneValue Lanes::pick(const LaneValue& first, const LaneValue& second, const LaneValue& order,
                      const std::vector<uint32_t>& places) {
  const auto count = static_cast<uint32_t>(places.size());
  if (std::all_of(places.begin(), places.end(), [&](uint32_t place) { return place < count; })) {
    const Vec result = new_vector();
    cc_.emit(Inst::kIdVpermps, result, order.vector, first.vector);
    return LaneValue::of(result);
  }
  if (wide_) {
    const Vec result = fresh(first);
    cc_.emit(Inst::kIdVpermt2ps, result, order.vector, second.vector);
    return LaneValue::of(result);
  }
  // The instruction looks at the lower bits of a place only: the place in either vector.
  const Vec low = new_vector(), high = new_vector(), result = new_vector();
  cc_.emit(Inst::kIdVpermps, low, order.vector, first.vector);
  cc_.emit(Inst::kIdVpermps, high, order.vector, second.vector);
  uint32_t from_second = 0;
  for (size_t lane = 0; lane < places.size(); ++lane) {
    if (places[lane] >= places.size()) from_second |= uint32_t{1} << lane;
  }
  cc_.emit(Inst::kIdVblendps, result, low, high, imm(from_second));
  return LaneValue::of(result);
}

LaneValue Lanes::load_booleans(const Mem& from, const LaneValue& mask) {
  if (mask.defined() && !wide_) refuse("a tail of booleans without mask registers");
  const Vec bytes = new_vector();
  if (mask.defined()) cc_.k(mask.mask).z();
  cc_.emit(Inst::kIdVpmovzxbd, bytes, from);
  const LaneValue result = new_mask();
  if (wide_)
    cc_.emit(Inst::kIdVptestmd, result.mask, bytes, bytes);
  else
    cc_.emit(Inst::kIdVpcmpgtd, result.vector, bytes, in_register(constant(0)));
  return result;
}

LaneValue Lanes::broadcast(const Mem& from) {
  const Vec result = new_vector();
  cc_.emit(Inst::kIdVbroadcastss, result, from);
  return LaneValue::of(result);
}

LaneValue Lanes::broadcast_where(const Mem& from, const LaneValue& mask, bool some) {
  if (wide_) {
    const Vec result = new_vector();
    cc_.k(mask.mask).z();
    cc_.emit(Inst::kIdVbroadcastss, result, from);
    return LaneValue::of(result);
  }
  const Vec loaded = new_vector();
  if (some) {
    cc_.emit(Inst::kIdVbroadcastss, loaded, from);
  } else {
    // One element only may be touched, by a lane that stands for any other.
    const Gp wanted = cc_.newGpd();
    cc_.vmovmskps(wanted, mask.vector);
    const Vec lane = new_vector();
    cc_.vmovd(lane.xmm(), wanted);
    cc_.vpcmpgtd(lane.xmm(), lane.xmm(), fresh(constant(0)).xmm());
    cc_.emit(Inst::kIdVmaskmovps, loaded.xmm(), lane.xmm(), from);
    cc_.emit(Inst::kIdVbroadcastss, loaded, loaded.xmm());
  }
  return emit(Inst::kIdVandps, Inst::kIdVandps, LaneValue::of(loaded), LaneValue::of(mask.vector));
}

LaneValue Lanes::broadcast(const Gp& general) {
  const Vec result = new_vector();
  if (wide_) {
    cc_.emit(Inst::kIdVpbroadcastd, result, general.r32());
  } else {
    cc_.emit(Inst::kIdVmovd, result.xmm(), general.r32());
    cc_.emit(Inst::kIdVpbroadcastd, result, result.xmm());
  }
  return LaneValue::of(result);
}

LaneValue Lanes::gather(const Gp& base, const Vec& offsets, const LaneValue& mask) {
  const Vec result = fresh(constant(0));
  // The instruction clears its mask.
  if (wide_) {
    const asmjit::x86::KReg lanes = cc_.newKw();
    if (mask.defined())
      cc_.emit(Inst::kIdKmovw, lanes, mask.mask);
    else
      cc_.emit(Inst::kIdKxnorw, lanes, lanes, lanes);
    cc_.k(lanes);
    cc_.emit(Inst::kIdVgatherdps, result, asmjit::x86::ptr(base, offsets));
  } else {
    const Vec lanes = new_vector();
    if (mask.defined())
      cc_.emit(Inst::kIdVmovaps, lanes, mask.vector);
    else
      cc_.emit(Inst::kIdVpcmpeqd, lanes, lanes, lanes);
    cc_.emit(Inst::kIdVgatherdps, result, asmjit::x86::ptr(base, offsets), lanes);
  }
  return LaneValue::of(result);
}

void Lanes::store(const Mem& to, const LaneValue& value, const LaneValue& mask, uint32_t bits) {
  const Vec source = part_of(in_register(value), bits);
  const Mem place = to.cloneResized(source.size());
  if (!mask.defined() || is_whole(source, bits)) {
    cc_.emit(Inst::kIdVmovups, place, source);
  } else if (wide_) {
    cc_.k(mask.mask);
    cc_.emit(Inst::kIdVmovups, place, source);
  } else if (bits != 0) {
    store_pieces(cc_, to, source, bits);
  } else {
    where_whole(
        mask, [&] { cc_.emit(Inst::kIdVmovups, place, source); },
        [&](const Gp& some) {
          const Label none = cc_.newLabel(), several = cc_.newLabel();
          cc_.cmp(some, 1);
          cc_.jb(none);
          cc_.ja(several);
          cc_.emit(Inst::kIdVmovss, to.cloneResized(4), source.xmm());
          cc_.jmp(none);
          cc_.bind(several);
          cc_.emit(Inst::kIdVmaskmovps, place, mask.vector, source);
          cc_.bind(none);
        });
  }
}

void Lanes::where_whole(const LaneValue& mask, const std::function<void()>& whole,
                        const std::function<void(const Gp& bits)>& part) {
  const Label partial = cc_.newLabel(), done = cc_.newLabel();
  const Gp bits = cc_.newGpd("lanes");
  cc_.vmovmskps(bits, mask.vector);
  cc_.cmp(bits, (1 << count()) - 1);
  cc_.jne(partial);
  whole();
  cc_.jmp(done);
  cc_.bind(partial);
  part(bits);
  cc_.bind(done);
}

void Lanes::store_first(const Mem& to, const LaneValue& value) {
  cc_.emit(Inst::kIdVmovss, to, in_register(value).xmm());
}

void Lanes::store_bytes(const Mem& to, const LaneValue& value, const LaneValue& mask) {
  if (!wide_) refuse("storing booleans without mask registers");
  const Vec ones = new_vector();
  const Vec one = in_register(constant(1));
  cc_.k(value.mask).z();
  cc_.emit(Inst::kIdVmovdqa32, ones, one);
  if (mask.defined()) cc_.k(mask.mask);
  cc_.emit(Inst::kIdVpmovdb, to, ones);
}

}  // namespace axrun::jit::x86
