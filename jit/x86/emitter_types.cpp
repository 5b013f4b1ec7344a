// Values of every element type: operations, and buffers in registers that are not of f32.
#include <limits>

#include "ir/arithmetic.h"
#include "jit/x86/emitter.h"
#include "jit/x86/refuse.h"

namespace axrun::jit::x86 {

using asmjit::x86::Gp;
using asmjit::x86::Mem;
using asmjit::x86::Vec;
using ir::Dim;
using ir::ElementType;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Value;

LaneValue PhaseEmitter::operation(const Value& v) {
  const auto argument = [&](int k) { return value(v.args[static_cast<size_t>(k)]); };
  const auto type_of = [&](int k) {
    return program_.values[static_cast<size_t>(v.args[static_cast<size_t>(k)])].type;
  };
  switch (v.op) {
    case ScalarOp::real:
      form_of(v.type);
      return typed_.literal(v.type, v.real);
    case ScalarOp::integer:
      return typed_.literal(v.type, v.integer);
    case ScalarOp::extent:
      return index_value(v.index);
    case ScalarOp::select: {
      const LaneValue condition = argument(0), yes = argument(1), no = argument(2);
      return typed_.select(v.type, condition, yes, no);
    }
    case ScalarOp::cast:
    case ScalarOp::cast_saturate:
      if (const auto found = quantized(v)) return *found;
      return typed_.convert(type_of(0), v.type, v.op == ScalarOp::cast_saturate, argument(0));
    default:
      break;
  }
  const ElementType type = type_of(0);
  const Form form = form_of(type);
  if (form == Form::f32 || form == Form::mask) {
    const LaneValue result = float_operation(v);
    return form_of(v.type) == Form::f32 ? typed_.rounded(v.type, result) : result;
  }
  if (const auto dim = as_dim(static_cast<int>(&v - program_.values.data()))) {
    const Interval range = facts_.range(at(*dim));
    if (range.low >= std::numeric_limits<int32_t>::min() && range.high <= std::numeric_limits<int32_t>::max())
      return index_value(*dim);
  }
  const LaneValue a = argument(0);
  return typed_.operation(v.op, type, a, ir::argument_count(v.op) > 1 ? argument(1) : LaneValue{});
}

// Buffers in registers
// ---------------------------------------------------------------------------------------------------------

namespace {

bool takes_two(ElementType type) {
  const Form form = form_of(type);
  return form == Form::i64 || form == Form::f64;
}

}  // namespace

Vec PhaseEmitter::upper_slot(const Access& access) {
  if (lane_ && is_column(access, lane_->variable))
    refuse(buffer(access.buffer).name + " in registers is read by columns, with elements of 64 bits");
  const auto [found, fresh] = slots_.try_emplace(slot_key(access) + " upper");
  if (fresh) found->second = lanes_.new_vector();
  return found->second;
}

LaneValue PhaseEmitter::read_slot(const Access& access) {
  const ElementType type = buffer(access.buffer).type;
  const LaneValue held = LaneValue::of(slot(access));
  if (form_of(type) == Form::mask) return typed_.vector_as_mask(held);
  return takes_two(type) ? LaneValue::of_pair(held.vector, upper_slot(access)) : held;
}

void PhaseEmitter::write_slot(const Access& access, Combine how, const LaneValue& value,
                              const LaneValue& mask) {
  const ElementType type = buffer(access.buffer).type;
  const Vec into = slot(access);
  LaneValue result = value;
  if (how != Combine::assign) result = typed_.combine(how, type, read_slot(access), value);
  if (form_of(type) == Form::mask) result = typed_.mask_as_vector(result);
  if (!takes_two(type)) return lanes_.keep_where(into, result, mask);
  const Vec upper = upper_slot(access);
  const LaneValue both = typed_.as_pair(type, result);
  const LaneValue kept =
      mask.defined() ? typed_.select(type, mask, both, LaneValue::of_pair(into, upper)) : both;
  lanes_.copy(into, LaneValue::of(kept.vector));
  lanes_.copy(upper, LaneValue::of(kept.upper));
}

/// All parts together, in every lane.
LaneValue PhaseEmitter::folded(Combine how, ElementType type, const std::vector<LaneValue>& parts) {
  if (type == ElementType::f32) return lanes_.fold(how, parts);
  LaneValue all = parts[0];
  for (size_t k = 1; k < parts.size(); ++k) all = typed_.combine(how, type, all, parts[k]);
  return typed_.fold(how, type, all);
}

// Memory
// ---------------------------------------------------------------------------------------------------------

/// Of elements that are not 32 bits wide: as load_selected.
LaneValue PhaseEmitter::load_typed(const ir::loop::Buffer& of, const Address& address,
                                   const Selection& lanes) {
  form_of(of.type);
  const auto element = static_cast<int>(size_of(of.type));
  const Mem place = memory(address, element);
  if (!lane_ || address.lane_step == Dim(0))
    return typed_.broadcast(of.type, place, lanes.guarded ? lanes.mask : LaneValue{});
  const uint32_t bits = lanes.bits.value_or(0);
  if (address.lane_step == Dim(1)) return typed_.load(of.type, place, lanes.mask, bits);
  if (const auto bytes = load_every_other_byte(of, address, lanes)) return *bytes;
  const Gp first = integers_.value(Dim(0)), step = integers_.value(address.lane_step * Dim(element));
  cc_.lea(first, place);
  return typed_.load_apart(of.type, first, step, lanes.mask, bits);
}

/// Every other byte, out of 16 bytes after each other that are in the buffer: those from the first one on, or
/// those up to the last one. Nothing where neither is known to be inside.
std::optional<LaneValue> PhaseEmitter::load_every_other_byte(const ir::loop::Buffer& of,
                                                             const Address& address, const Selection& lanes) {
  constexpr int64_t window = 16;
  const bool fits = size_of(of.type) == 1 && of.type != ElementType::boolean && !lanes_.wide() &&
                    address.lane_step == Dim(2) && address.is_linear() && address.lookups.empty();
  if (!fits || !lanes.bits || *lanes.bits == 0) return std::nullopt;
  Dim elements = 1;
  for (const Dim& dim : of.dims) elements = elements * at(dim);
  const Dim low = address.form + Dim(address.displacement);
  const int64_t before = window - 1 - 2 * (std::bit_width(*lanes.bits) - 1);
  Address from = address;
  int64_t shift = 0;
  if (!facts_.is_nonnegative(low) || !facts_.is_nonnegative(elements - low - Dim(window))) {
    if (!facts_.is_nonnegative(low - Dim(before))) return std::nullopt;
    shift = before;
  }
  from.displacement -= shift;
  from.lane_step = Dim(1);
  return typed_.load_every_other_byte(of.type, memory(from, 1), static_cast<int>(shift), *lanes.bits);
}

}  // namespace axrun::jit::x86
