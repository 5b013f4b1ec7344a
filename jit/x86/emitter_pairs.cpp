// Words that lie next to each other, written in a row: pairs of them are lanes of 32 bits, stored as such.
#include "jit/x86/conditions.h"
#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

using ir::Dim;
using ir::ElementType;
using ir::lane::Opcode;
using ir::loop::Access;
using ir::loop::Compute;
using ir::loop::Loop;

/// Whether iterations 0 and 1 of a loop assign words next to each other, lanes a pair apart, of what is read
/// elsewhere.
bool PhaseEmitter::are_pairs(const Loop& neighbours, const Compute& compute) {
  if (compute.combine != ir::loop::Combine::assign || in_registers(compute.target.buffer)) return false;
  const ElementType type = buffer(compute.target.buffer).type;
  if (type != ElementType::i16 && type != ElementType::u16) return false;
  bool plain = true;
  collect_value(compute.value, [&](const Access& access) {
    plain = plain && access.lookups.empty() && access.buffer != compute.target.buffer;
  });
  if (!plain || !compute.target.lookups.empty()) return false;
  literals_[neighbours.variable] = 0;
  const Address first = linear_address_of(compute.target);
  literals_[neighbours.variable] = 1;
  const Address second = linear_address_of(compute.target);
  literals_.erase(neighbours.variable);
  return first.lane_step == Dim(2) && second.lane_step == Dim(2) && first.form == second.form &&
         second.displacement == first.displacement + 1;
}

/// False, and nothing is made, where the unrolled loop is something else.
bool PhaseEmitter::emit_pairs(const Loop& neighbours) {
  const auto count = at(neighbours.extent).constant();
  if (!count || *count != 2 || neighbours.step != 1 || neighbours.body.size() != 1) return false;
  const auto* lanes = std::get_if<Loop>(&neighbours.body[0]);
  if (lanes == nullptr || lanes->kind != ir::loop::LoopKind::vector || lanes->body.size() != 1) return false;
  const auto* compute = std::get_if<Compute>(&lanes->body[0]);
  const Interval range = facts_.range(at(lanes->extent));
  if (compute == nullptr || range.high <= 0 || range.high > most_unrolled || lanes->step != 1) return false;
  if (mentions(lanes->extent, neighbours.variable)) return false;
  facts_.set_range(lanes->variable, {0, range.high - 1});
  lane_ = Lane{lanes->variable, 0, {}, {}, {}};
  const bool found = are_pairs(neighbours, *compute);
  lane_.reset();
  if (found) {
    comment(buffer(compute->target.buffer).name + " = pairs in lanes of " + lanes->variable);
    for (const Lane& lane : vectors_of(*lanes)) {
      lane_ = lane;
      add_pairs(neighbours, *compute);
    }
    lane_.reset();
    values_.clear();
    uses_.clear();
  }
  facts_.forget_range(lanes->variable);
  return found;
}

/// One vector of pairs.
void PhaseEmitter::add_pairs(const Loop& neighbours, const Compute& compute) {
  const auto word = [&](int64_t k) {
    literals_[neighbours.variable] = k;
    values_.clear();
    uses_.clear();
    return LaneValue::of(lanes_.in_register(value(compute.value)));
  };
  constexpr uint32_t low_word = 0xffff;
  constexpr uint32_t word_bits = 16;
  LaneValue first = lanes_.apply(Opcode::i32_and, {word(0), lanes_.constant(low_word), {}}, 0);
  LaneValue second = lanes_.apply(Opcode::i32_shift_left, {word(1), {}, {}}, word_bits);
  first.dies = second.dies = true;
  const LaneValue both = lanes_.apply(Opcode::i32_or, {first, second, {}}, 0);
  const Selection selected = present_lanes();
  const Address upper = linear_address_of(compute.target);
  literals_[neighbours.variable] = 0;
  const Address lower = linear_address_of(compute.target);
  const asmjit::x86::Mem place = memory(lower, 2).cloneResized(static_cast<uint32_t>(4 * lanes_.count()));
  lanes_.store(place, both, lane_->mask, selected.bits.value_or(0));
  drop_loads(lower);
  drop_loads(upper);
  literals_.erase(neighbours.variable);
}

}  // namespace axrun::jit::x86
