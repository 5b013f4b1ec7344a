// Words or bytes that lie next to each other, written in a row: two or four of them are lanes of 32 bits,
// stored as such.
#include "jit/x86/conditions.h"
#include "jit/x86/emitter.h"

namespace axrun::jit::x86 {

namespace Inst = asmjit::x86::Inst;
using asmjit::imm;
using ir::Dim;
using ir::ElementType;
using ir::ScalarOp;
using ir::lane::Opcode;
using ir::loop::Access;
using ir::loop::Compute;
using ir::loop::Loop;
using ir::loop::Value;

/// Whether iterations of a loop, as many as fill 32 bits, assign elements next to each other, lanes so many
/// elements apart, of what is read elsewhere.
bool PhaseEmitter::are_packed(const Loop& neighbours, const Compute& compute, int64_t count) {
  if (compute.combine != ir::loop::Combine::assign || in_registers(compute.target.buffer)) return false;
  const ElementType type = buffer(compute.target.buffer).type;
  constexpr int64_t bytes = 4;
  if (!ir::is_integer(type) || static_cast<int64_t>(ir::size_of(type)) * count != bytes) return false;
  bool plain = true;
  collect_value(compute.value, [&](const Access& access) {
    plain = plain && access.lookups.empty() && access.buffer != compute.target.buffer;
  });
  if (!plain || !compute.target.lookups.empty()) return false;
  std::optional<Address> first;
  for (int64_t k = 0; k < count && plain; ++k) {
    literals_[neighbours.variable] = k;
    const Address here = linear_address_of(compute.target);
    if (!first) first = here;
    plain = here.lane_step == Dim(count) && here.form == first->form &&
            here.displacement == first->displacement + k;
  }
  literals_.erase(neighbours.variable);
  return plain;
}

/// False, and nothing is made, where the unrolled loop is something else.
bool PhaseEmitter::emit_packed(const Loop& neighbours) {
  const auto count = at(neighbours.extent).constant();
  if (!count || (*count != 2 && *count != 4) || neighbours.step != 1 || neighbours.body.size() != 1)
    return false;
  const auto* lanes = std::get_if<Loop>(&neighbours.body[0]);
  if (lanes == nullptr || lanes->kind != ir::loop::LoopKind::vector || lanes->body.size() != 1) return false;
  const auto* compute = std::get_if<Compute>(&lanes->body[0]);
  const Interval range = facts_.range(at(lanes->extent));
  if (compute == nullptr || range.high <= 0 || range.high > most_unrolled || lanes->step != 1) return false;
  if (mentions(lanes->extent, neighbours.variable)) return false;
  facts_.set_range(lanes->variable, {0, range.high - 1});
  lane_ = Lane{lanes->variable, 0, {}, {}, {}};
  const bool found = are_packed(neighbours, *compute, *count);
  lane_.reset();
  if (found) {
    comment(buffer(compute->target.buffer).name + " = neighbours in lanes of " + lanes->variable);
    for (const Lane& lane : vectors_of(*lanes)) {
      lane_ = lane;
      add_packed(neighbours, *compute, *count);
    }
    lane_.reset();
    values_.clear();
    uses_.clear();
  }
  facts_.forget_range(lanes->variable);
  return found;
}

/// The value whose lowest bits are those of the one to be packed: that a cast wraps makes no difference.
int PhaseEmitter::unwrapped(int id) const {
  const Value& cast = program_.values[static_cast<size_t>(id)];
  if (cast.op != ScalarOp::cast || form_of(cast.type) != Form::i32) return id;
  const ElementType from = program_.values[static_cast<size_t>(cast.args[0])].type;
  return ir::is_integer(from) && form_of(from) == Form::i32 && ir::size_of(from) >= ir::size_of(cast.type)
             ? cast.args[0]
             : id;
}

/// One vector of neighbours.
void PhaseEmitter::add_packed(const Loop& neighbours, const Compute& compute, int64_t count) {
  const auto bits = static_cast<uint32_t>(32 / count);
  const bool halves = count == 2 && !lanes_.wide();
  const int wanted = unwrapped(compute.value);
  std::vector<Address> places;
  std::optional<LaneValue> all;
  for (int64_t k = 0; k < count; ++k) {
    literals_[neighbours.variable] = k;
    values_.clear();
    uses_.clear();
    LaneValue one = LaneValue::of(lanes_.in_register(value(wanted)));
    places.push_back(linear_address_of(compute.target));
    const auto shift = static_cast<uint32_t>(k) * bits;
    // Shifted to the top, the last one leaves behind what it is extended by.
    if (k + 1 < count && !halves) {
      one = lanes_.apply(Opcode::i32_and, {one, lanes_.constant((1U << bits) - 1), {}}, 0);
      one.dies = true;
    }
    if (k > 0) one = lanes_.apply(Opcode::i32_shift_left, {one, {}, {}}, static_cast<int>(shift));
    one.dies = true;
    if (all && halves) {
      constexpr int odd_words = 0xaa;
      const asmjit::x86::Vec both = lanes_.new_vector();
      cc_.emit(Inst::kIdVpblendw, both, lanes_.in_register(*all), lanes_.in_register(one), imm(odd_words));
      all = LaneValue::of(both);
      continue;
    }
    all = all ? lanes_.apply(Opcode::i32_or, {*all, one, {}}, 0) : one;
    all->dies = true;
  }
  all->dies = false;
  const Selection selected = present_lanes();
  literals_[neighbours.variable] = 0;
  const asmjit::x86::Mem place =
      memory(places[0], static_cast<int>(4 / count)).cloneResized(static_cast<uint32_t>(4 * lanes_.count()));
  lanes_.store(place, *all, lane_->mask, selected.bits.value_or(0));
  for (const Address& written : places) drop_loads(written);
  literals_.erase(neighbours.variable);
}

}  // namespace axrun::jit::x86
