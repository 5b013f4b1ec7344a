// Products of small integers that lie next to each other, added to lanes of 32 bits: statements in a row, for
// one target, are one instruction where the processor has it.
#include <algorithm>
#include <utility>

#include "jit/x86/conditions.h"
#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

using namespace asmjit;  // the names of registers, operands and instructions
namespace Inst = asmjit::x86::Inst;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
using ir::Dim;
using ir::ElementType;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::Value;

namespace {

bool is_byte(ElementType type) { return type == ElementType::u8 || type == ElementType::i8; }

}  // namespace

/// What is read for cast:i32(load), without a guard, from memory; null for other values.
const Access* PhaseEmitter::widened_load(int id) const {
  const Value& cast = program_.values[static_cast<size_t>(id)];
  if (cast.op != ScalarOp::cast || cast.type != ElementType::i32) return nullptr;
  const Value& load = program_.values[static_cast<size_t>(cast.args[0])];
  const bool plain = load.op == ScalarOp::load && load.args[0] == ir::none && load.access.lookups.empty() &&
                     !in_registers(load.access.buffer);
  return plain ? &load.access : nullptr;
}

/// target += cast:i32(one) * cast:i32(each), with `one` the same for all lanes and lanes of `each` so many
/// elements apart.
std::optional<PhaseEmitter::Dot> PhaseEmitter::as_dot(const Compute& compute, int64_t apart) {
  const Value& product = program_.values[static_cast<size_t>(compute.value)];
  const bool adds = compute.combine == Combine::add && in_registers(compute.target.buffer) &&
                    buffer(compute.target.buffer).type == ElementType::i32;
  if (!adds || product.op != ScalarOp::mul) return std::nullopt;
  const Access* a = widened_load(product.args[0]);
  const Access* b = widened_load(product.args[1]);
  if (a == nullptr || b == nullptr) return std::nullopt;
  Dot dot{linear_address_of(*a), linear_address_of(*b)};
  if (dot.one.lane_step != Dim(0)) std::swap(dot.one, dot.each);
  if (dot.one.lane_step != Dim(0) || dot.each.lane_step != Dim(apart)) return std::nullopt;
  return dot;
}

/// Whether iterations of a loop, as many as one instruction takes, are such products of neighbours.
bool PhaseEmitter::are_dots(const Loop& neighbours, const Compute& compute, int64_t count) {
  std::optional<Dot> first;
  std::string target;
  for (int64_t k = 0; k < count; ++k) {
    literals_[neighbours.variable] = k;
    const auto dot = as_dot(compute, count);
    const std::string here = dot ? slot_key(compute.target) : "";
    literals_.erase(neighbours.variable);
    if (!dot) return false;
    if (!first) {
      first = dot;
      target = here;
    }
    const auto follows = [k](const Address& from, const Address& to) {
      return from.form == to.form && to.displacement == from.displacement + k;
    };
    if (here != target || !follows(first->one, dot->one) || !follows(first->each, dot->each)) return false;
  }
  const ElementType one = buffer(first->one.buffer).type, each = buffer(first->each.buffer).type;
  if (count == 2) return one == ElementType::i16 && (each == ElementType::i16 || is_byte(each));
  const bool bytes = (one == ElementType::u8 && each == ElementType::i8) ||
                     (one == ElementType::i8 && each == ElementType::u8);
  return bytes && (has_dots_ || !lanes_.wide());
}

/// False, and nothing is made, where the unrolled loop is something else.
bool PhaseEmitter::emit_dots(const Loop& neighbours) {
  const auto count = at(neighbours.extent).constant();
  if (!count || (*count != 4 && *count != 2) || neighbours.step != 1 || neighbours.body.size() != 1)
    return false;
  const auto* lanes = std::get_if<Loop>(&neighbours.body[0]);
  if (lanes == nullptr || lanes->kind != ir::loop::LoopKind::vector || lanes->body.size() != 1) return false;
  const auto* compute = std::get_if<Compute>(&lanes->body[0]);
  const Interval range = facts_.range(at(lanes->extent));
  if (compute == nullptr || range.high <= 0 || range.high > most_unrolled || lanes->step != 1) return false;
  facts_.set_range(lanes->variable, {0, range.high - 1});
  lane_ = Lane{lanes->variable, 0, {}, {}, {}};
  bool found = are_dots(neighbours, *compute, *count);
  const bool widens = found && *count == 2 && is_byte(buffer(as_each(*compute, neighbours).buffer).type);
  lane_.reset();
  const std::vector<Lane> all = found ? vectors_of(*lanes) : std::vector<Lane>();
  // Pairs of bytes are no lanes that a mask could leave out.
  if (widens && std::any_of(all.begin(), all.end(), [](const Lane& lane) { return lane.mask.defined(); }))
    found = false;
  if (found) {
    comment(buffer(compute->target.buffer).name + " += dot products in lanes of " + lanes->variable);
    literals_[neighbours.variable] = 0;
    for (const Lane& lane : all) {
      lane_ = lane;
      add_dots(*compute, *count);
    }
    lane_.reset();
    literals_.erase(neighbours.variable);
  }
  facts_.forget_range(lanes->variable);
  return found;
}

/// What lanes read of products of pairs, at the first neighbour.
PhaseEmitter::Address PhaseEmitter::as_each(const Compute& compute, const Loop& neighbours) {
  literals_[neighbours.variable] = 0;
  const Address each = as_dot(compute, 2)->each;
  literals_.erase(neighbours.variable);
  return each;
}

LaneValue PhaseEmitter::kept(const std::string& key, const std::function<LaneValue()>& make) {
  if (const auto found = find_load(key)) return *found;
  const LaneValue made = make();
  keep_load(key, made);
  return made;
}

/// One vector of sums. Lanes that do not exist add nothing: their elements are read as 0.
void PhaseEmitter::add_dots(const Compute& compute, int64_t count) {
  const Dot dot = *as_dot(compute, count);
  const Vec into = slot(compute.target);
  const bool bytes = count == 4;
  const Selection lanes = present_lanes();
  const ElementType each_type = buffer(dot.each.buffer).type;
  const bool widens = !bytes && is_byte(each_type);
  const std::string one_key = load_key(dot.one, "") + " neighbours";
  const std::string each_key = load_key(dot.each, lanes.name) + " neighbours";
  const auto read_one = [&] { return lanes_.broadcast(memory(dot.one, bytes ? 1 : 2)); };
  const auto read_each = [&] {
    const Mem place = memory(dot.each, bytes || widens ? 1 : 2);
    if (!widens) return lanes_.load(place, lanes.mask, lanes.bits.value_or(0));
    const LaneValue words = LaneValue::of(lanes_.new_vector());
    cc_.emit(each_type == ElementType::u8 ? Inst::kIdVpmovzxbw : Inst::kIdVpmovsxbw, words.vector,
             place.cloneResized(static_cast<uint32_t>(2 * lanes_.count())));
    return words;
  };
  const bool one_is_unsigned = buffer(dot.one.buffer).type == ElementType::u8;
  if (!bytes || has_dots_) {
    const Vec one = kept(one_key, read_one).vector, each = kept(each_key, read_each).vector;
    if (has_dots_) {
      // 256-bit vectors may be all that there is.
      if (!lanes_.wide()) cc_.addInstOptions(InstOptions::kX86_Vex);
      const InstId id = bytes ? Inst::kIdVpdpbusd : Inst::kIdVpdpwssd;
      cc_.emit(id, into, one_is_unsigned ? one : each, one_is_unsigned ? each : one);
      return;
    }
    const Vec products = lanes_.new_vector();
    cc_.emit(Inst::kIdVpmaddwd, products, each, one);
    cc_.emit(Inst::kIdVpaddd, into, into, products);
    return;
  }
  // As words: pairs of products of bytes do not fit 16 bits.
  const auto words = [&](const Vec& narrow, ElementType type) {
    const Vec result = lanes_.new_vector();
    cc_.emit(type == ElementType::u8 ? Inst::kIdVpmovzxbw : Inst::kIdVpmovsxbw, result, narrow.xmm());
    return result;
  };
  const Vec one = kept(one_key + " as words", [&] {
                    return LaneValue::of(words(read_one().vector, buffer(dot.one.buffer).type));
                  }).vector;
  const LaneValue each = kept(each_key + " as words", [&] {
    const Vec whole = read_each().vector, upper = cc_.newXmm();
    cc_.emit(Inst::kIdVextractf128, upper, whole, imm(1));
    const ElementType type = buffer(dot.each.buffer).type;
    return LaneValue::of_pair(words(whole, type), words(upper, type));
  });
  const Vec lower = lanes_.new_vector(), upper = lanes_.new_vector();
  cc_.emit(Inst::kIdVpmaddwd, lower, each.vector, one);
  cc_.emit(Inst::kIdVpmaddwd, upper, each.upper, one);
  // Sums of neighbours: lanes 0 1 4 5 2 3 6 7.
  constexpr int middle_parts_exchanged = 0xd8;
  cc_.emit(Inst::kIdVphaddd, lower, lower, upper);
  cc_.emit(Inst::kIdVpermq, lower, lower, imm(middle_parts_exchanged));
  cc_.emit(Inst::kIdVpaddd, into, into, lower);
}

}  // namespace axrun::jit::x86
