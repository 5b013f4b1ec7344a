#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "ir/lane/program.h"

namespace axrun::ir::lane {

class Builder;

/// A value of a program under construction, typed. Valid as long as its builder.
template <Type type>
struct Value {
  Builder* builder = nullptr;
  ValueId id = no_value;
};
using F32 = Value<Type::f32>;
using I32 = Value<Type::i32>;
using Mask = Value<Type::mask>;

/// Writes a lane program. Equal instructions are made once.
class Builder {
 public:
  explicit Builder(std::string name) { program_.name = std::move(name); }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// All inputs come before anything else.
  F32 input() { return {this, append({Opcode::input, {no_value, no_value, no_value}, 0})}; }
  F32 constant(float value);
  F32 constant_bits(uint32_t bits);
  I32 integer(int32_t value);
  F32 lookup(I32 index, const std::array<float, 16>& table);

  /// The number of an instruction with these arguments.
  ValueId emit(Opcode opcode, ValueId a, ValueId b = no_value, ValueId c = no_value, uint32_t literal = 0);

  /// The finished program, checked against the grammar.
  Program finish(F32 result);

 private:
  ValueId append(const Instruction& instruction);

  using Key = std::tuple<Opcode, ValueId, ValueId, ValueId, uint32_t>;
  Program program_;
  std::map<Key, ValueId> made_;
};

F32 operator+(F32 a, F32 b);
F32 operator-(F32 a, F32 b);
F32 operator*(F32 a, F32 b);
F32 operator/(F32 a, F32 b);
F32 operator-(F32 a);
F32 fma(F32 a, F32 b, F32 c);
F32 sqrt(F32 a);
F32 min(F32 a, F32 b);
F32 max(F32 a, F32 b);
F32 abs(F32 a);
F32 copysign(F32 magnitude, F32 sign);
F32 select(Mask condition, F32 yes, F32 no);
F32 where(Mask condition, F32 a);
Mask operator==(F32 a, F32 b);
Mask operator<(F32 a, F32 b);
Mask operator<=(F32 a, F32 b);
Mask unordered(F32 a, F32 b);
Mask not_less(F32 a, F32 b);
F32 scale(F32 a, F32 exponent);
I32 to_i32_nearest(F32 a);
I32 bits(F32 a);

I32 operator+(I32 a, I32 b);
I32 operator-(I32 a, I32 b);
I32 operator&(I32 a, I32 b);
I32 shift_left(I32 a, int count);
I32 shift_right_arithmetic(I32 a, int count);
I32 select(Mask condition, I32 yes, I32 no);
F32 to_f32(I32 a);
F32 from_bits(I32 a);

Mask operator|(Mask a, Mask b);

}  // namespace axrun::ir::lane
