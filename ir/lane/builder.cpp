#include "ir/lane/builder.h"

#include <bit>

#include "ir/lane/grammar.h"

namespace axrun::ir::lane {
namespace {

template <Type result, class A>
Value<result> unary(Opcode opcode, A a, uint32_t literal = 0) {
  return {a.builder, a.builder->emit(opcode, a.id, no_value, no_value, literal)};
}

template <Type result, class A>
Value<result> binary(Opcode opcode, A a, A b) {
  return {a.builder, a.builder->emit(opcode, a.id, b.id)};
}

}  // namespace

F32 Builder::constant(float value) { return constant_bits(std::bit_cast<uint32_t>(value)); }
F32 Builder::constant_bits(uint32_t bits) {
  return {this, emit(Opcode::constant, no_value, no_value, no_value, bits)};
}
I32 Builder::integer(int32_t value) {
  return {this, emit(Opcode::i32_constant, no_value, no_value, no_value, static_cast<uint32_t>(value))};
}

F32 Builder::lookup(I32 index, const std::array<float, 16>& table) {
  const uint32_t number = table_number(program_, std::bit_cast<Table>(table));
  return {this, emit(Opcode::lookup, index.id, no_value, no_value, number)};
}

ValueId Builder::emit(Opcode opcode, ValueId a, ValueId b, ValueId c, uint32_t literal) {
  const auto [place, fresh] = made_.try_emplace({opcode, a, b, c, literal}, no_value);
  if (fresh) place->second = append({opcode, {a, b, c}, literal});
  return place->second;
}

ValueId Builder::append(const Instruction& instruction) {
  program_.instructions.push_back(instruction);
  return static_cast<ValueId>(program_.instructions.size() - 1);
}

Program Builder::finish(F32 result) {
  program_.results = {result.id};
  require_valid(program_);
  return program_;
}

F32 operator+(F32 a, F32 b) { return binary<Type::f32>(Opcode::add, a, b); }
F32 operator-(F32 a, F32 b) { return binary<Type::f32>(Opcode::sub, a, b); }
F32 operator*(F32 a, F32 b) { return binary<Type::f32>(Opcode::mul, a, b); }
F32 operator/(F32 a, F32 b) { return binary<Type::f32>(Opcode::div, a, b); }
F32 operator-(F32 a) { return unary<Type::f32>(Opcode::neg, a); }
F32 fma(F32 a, F32 b, F32 c) { return {a.builder, a.builder->emit(Opcode::fma, a.id, b.id, c.id)}; }
F32 sqrt(F32 a) { return unary<Type::f32>(Opcode::sqrt, a); }
F32 min(F32 a, F32 b) { return binary<Type::f32>(Opcode::min, a, b); }
F32 max(F32 a, F32 b) { return binary<Type::f32>(Opcode::max, a, b); }
F32 abs(F32 a) { return unary<Type::f32>(Opcode::abs, a); }
F32 copysign(F32 magnitude, F32 sign) { return binary<Type::f32>(Opcode::copysign, magnitude, sign); }
F32 select(Mask condition, F32 yes, F32 no) {
  return {yes.builder, yes.builder->emit(Opcode::select, condition.id, yes.id, no.id)};
}
F32 where(Mask condition, F32 a) {
  return {a.builder, a.builder->emit(Opcode::where, condition.id, a.id)};
}
Mask operator==(F32 a, F32 b) { return binary<Type::mask>(Opcode::equal, a, b); }
Mask operator<(F32 a, F32 b) { return binary<Type::mask>(Opcode::less, a, b); }
Mask operator<=(F32 a, F32 b) { return binary<Type::mask>(Opcode::less_equal, a, b); }
Mask unordered(F32 a, F32 b) { return binary<Type::mask>(Opcode::unordered, a, b); }
Mask not_less(F32 a, F32 b) { return binary<Type::mask>(Opcode::not_less, a, b); }
F32 scale(F32 a, F32 exponent) { return binary<Type::f32>(Opcode::scale, a, exponent); }
I32 to_i32_nearest(F32 a) { return unary<Type::i32>(Opcode::to_i32_nearest, a); }
I32 bits(F32 a) { return unary<Type::i32>(Opcode::bits, a); }

I32 operator+(I32 a, I32 b) { return binary<Type::i32>(Opcode::i32_add, a, b); }
I32 operator-(I32 a, I32 b) { return binary<Type::i32>(Opcode::i32_sub, a, b); }
I32 operator&(I32 a, I32 b) { return binary<Type::i32>(Opcode::i32_and, a, b); }
I32 shift_left(I32 a, int count) {
  return unary<Type::i32>(Opcode::i32_shift_left, a, static_cast<uint32_t>(count));
}
I32 shift_right_arithmetic(I32 a, int count) {
  return unary<Type::i32>(Opcode::i32_shift_right_arithmetic, a, static_cast<uint32_t>(count));
}
I32 select(Mask condition, I32 yes, I32 no) {
  return {yes.builder, yes.builder->emit(Opcode::i32_select, condition.id, yes.id, no.id)};
}
F32 to_f32(I32 a) { return unary<Type::f32>(Opcode::i32_to_f32, a); }
F32 from_bits(I32 a) { return unary<Type::f32>(Opcode::from_bits, a); }

Mask operator|(Mask a, Mask b) { return binary<Type::mask>(Opcode::mask_or, a, b); }

}  // namespace axrun::ir::lane
