// Bytes: floats that become integers of 8 bits as QuantizeLinear makes them, cast_saturate(round_even(x) +
// zero), and stores of these.
//
// Numbers are brought between those that give the least and the largest integer first: then rounding to
// integers and adding in integers is exact, and quotients need no division.
#include <bit>
#include <cmath>

#include "ir/program.h"
#include "jit/rounded_quotients.h"
#include "jit/x86/emitter.h"
#include "jit/x86/interleave.h"

namespace axrun::jit::x86 {

using ir::ElementType;
using ir::ScalarOp;
using ir::lane::Opcode;
using ir::loop::Value;

namespace {

/// An integer that the type has; nothing for other values.
std::optional<int64_t> as_zero_point(const Value& v, ElementType type) {
  if (v.op != ScalarOp::real) return std::nullopt;
  const auto low = static_cast<double>(ir::integer_min(type)),
             high = static_cast<double>(ir::integer_max(type));
  const bool inside = v.real >= low && v.real <= high && v.real == std::floor(v.real);
  return inside ? std::optional(static_cast<int64_t>(v.real)) : std::nullopt;
}

}  // namespace

std::optional<PhaseEmitter::Quantization> PhaseEmitter::quantization(const Value& cast) const {
  const auto at_id = [&](int id) -> const Value& { return program_.values[static_cast<size_t>(id)]; };
  const bool bytes = cast.type == ElementType::u8 || cast.type == ElementType::i8;
  if (cast.op != ScalarOp::cast_saturate || !bytes) return std::nullopt;
  const Value* sum = &at_id(cast.args[0]);
  if (sum->type != ElementType::f32) return std::nullopt;
  Quantization found;
  if (sum->op == ScalarOp::add) {
    const bool last = at_id(sum->args[1]).op == ScalarOp::real;
    const auto zero = as_zero_point(at_id(sum->args[last ? 1 : 0]), cast.type);
    if (!zero) return std::nullopt;
    found.zero = *zero;
    sum = &at_id(sum->args[last ? 0 : 1]);
  }
  if (sum->op != ScalarOp::round_even) return std::nullopt;
  found.least = ir::integer_min(cast.type) - found.zero;
  found.most = ir::integer_max(cast.type) - found.zero;
  found.number = sum->args[0];
  if (const Value& quotient = at_id(found.number); quotient.op == ScalarOp::div) {
    const Value& by = at_id(quotient.args[1]);
    if (by.op == ScalarOp::real && rounds_as_quotient(static_cast<float>(by.real), found.least, found.most)) {
      found.divisor = static_cast<float>(by.real);
      found.number = quotient.args[0];
    }
  }
  return found;
}

LaneValue PhaseEmitter::rounded_quotient(const Quantization& what, const LaneValue& bounded) {
  if (!what.divisor) return lanes_.apply(Opcode::to_i32_nearest, {bounded, {}, {}});
  const Reciprocal reciprocal(*what.divisor);
  const auto constant = [&](float x) { return lanes_.constant(std::bit_cast<uint32_t>(x)); };
  LaneValue rest = lanes_.apply(Opcode::mul, {bounded, constant(reciprocal.low), {}});
  rest.dies = true;
  const LaneValue quotient = lanes_.apply(Opcode::fma, {bounded, constant(reciprocal.high), rest});
  return lanes_.apply(Opcode::to_i32_nearest, {quotient, {}, {}});
}

std::optional<LaneValue> PhaseEmitter::quantized(const Value& cast) {
  const std::optional<Quantization> what = quantization(cast);
  if (!what) return std::nullopt;
  const float unit = what->divisor.value_or(1);
  const auto constant = [&](float x) { return lanes_.constant(std::bit_cast<uint32_t>(x)); };
  const LaneValue x = LaneValue::of(lanes_.in_register(value(what->number)));
  // NaN becomes the least number: the instruction answers its second operand.
  LaneValue bounded = lanes_.apply(Opcode::max, {x, constant(static_cast<float>(what->least) * unit), {}});
  bounded = lanes_.apply(Opcode::min, {bounded, constant(static_cast<float>(what->most) * unit), {}});
  LaneValue integer = rounded_quotient(*what, bounded);
  if (what->zero != 0)
    integer =
        lanes_.apply(Opcode::i32_add, {integer, lanes_.constant(static_cast<uint32_t>(what->zero)), {}});
  if (cast.type == ElementType::u8) return integer;
  return lanes_.apply(Opcode::select, {lanes_.apply(Opcode::equal, {x, x, {}}), integer, lanes_.constant(0)});
}

/// As quantized, for bytes without a sign, before the zero point is added, and without a lower bound: what is
/// too small, and NaN, gives a negative number that packing makes 0, with the zero point or without. So a
/// Relu in front of it changes nothing where the zero point is 0.
LaneValue PhaseEmitter::quantized_to_pack(const Quantization& what) {
  const auto at_id = [&](int id) -> const Value& { return program_.values[static_cast<size_t>(id)]; };
  int number = what.number;
  if (const Value& relu = at_id(number); relu.op == ScalarOp::max && what.zero == 0) {
    const Value& bound = at_id(relu.args[1]);
    if (bound.op == ScalarOp::real && bound.real == 0) number = relu.args[0];
  }
  const float most = static_cast<float>(what.most) * what.divisor.value_or(1);
  // NaN stays: the instruction answers its second operand.
  const LaneValue bounded = lanes_.apply(
      Opcode::min,
      {lanes_.constant(std::bit_cast<uint32_t>(most)), LaneValue::of(lanes_.in_register(value(number))), {}});
  return rounded_quotient(what, bounded);
}

/// Bytes of two whole vectors that lie next to each other are stored at once; false, and nothing is made,
/// where the statement does something else.
bool PhaseEmitter::write_bytes_of_two(const ir::loop::Compute& compute, const Lane& first,
                                      const Lane& second) {
  const ir::loop::Access& target = compute.target;
  const ElementType type = buffer(target.buffer).type;
  const bool bytes = type == ElementType::u8 || type == ElementType::i8;
  if (!bytes || lanes_.wide() || in_registers(target.buffer) || first.mask.defined() || second.mask.defined())
    return false;
  lane_ = first;
  const Address address = linear_address_of(target);
  if (compute.combine != ir::loop::Combine::assign || address.lane_step != ir::Dim(1)) return false;
  const Value& root = program_.values[static_cast<size_t>(compute.value)];
  const std::optional<Quantization> what = type == ElementType::u8 ? quantization(root) : std::nullopt;
  LaneValue made[2];
  std::vector<asmjit::BaseNode*> boundaries = {cc_.cursor()};
  for (const bool last : {false, true}) {
    lane_ = last ? second : first;
    uses_.clear();
    made[last ? 1 : 0] = what ? quantized_to_pack(*what) : value(compute.value);
    boundaries.push_back(cc_.cursor());
  }
  interleave(cc_, boundaries, lanes_.registers() - lanes_.held() - registers_taken_);
  lane_ = first;
  typed_.store_bytes_of_two(type, memory(address, 1), made[0], made[1], what ? what->zero : 0);
  for (const Lane& lane : {first, second}) {
    lane_ = lane;
    drop_loads(linear_address_of(target));
  }
  return true;
}

}  // namespace axrun::jit::x86
