#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace axrun::ir::lane {

/// Operations on one lane of a vectorised loop, with semantics that name no machine.
///
/// Floats are IEEE 754 binary32. Arithmetic rounds once, to nearest even; denormals are neither read nor
/// written as zero. Where an arithmetic operation answers NaN, the sign and the payload of that NaN are not
/// specified (machines differ), so a program's results are compared with any NaN equal to any NaN, and a
/// program whose other bits depend on them is wrong. The same holds for `scale` outside of its domain and for
/// `where` outside of its mask, where the result is not specified at all. Everything else is specified to the
/// bit: operations marked "moves bits" below keep even NaNs as they are. A mask is all ones or all zeros over
/// its lane.

enum class Type : uint8_t { f32, i32, mask };
std::string_view name_of(Type type);

/// Unprefixed operations work on f32. Values are not stored anywhere; texts use the names.
enum class Opcode : uint8_t {
  input,
  constant,
  add,
  sub,
  mul,
  div,
  fma,
  sqrt,
  min,
  max,
  neg,
  abs,
  copysign,
  round_even,
  floor,
  select,
  where,
  equal,
  less,
  less_equal,
  unordered,
  not_less,
  scale,
  to_i32_nearest,
  to_i32_truncate,
  bits,
  i32_input,
  i32_constant,
  i32_add,
  i32_sub,
  i32_mul,
  i32_and,
  i32_or,
  i32_xor,
  i32_shift_left,
  i32_shift_right,
  i32_shift_right_arithmetic,
  i32_select,
  i32_equal,
  i32_less,
  i32_to_f32,
  from_bits,
  lookup,
  mask_and,
  mask_or,
  mask_xor,
  mask_not,
};

/// What stands in an instruction's literal.
enum class Literal : uint8_t {
  none,
  f32,    ///< the bits of a float
  i32,    ///< the bits of an integer
  shift,  ///< a number of bits, 0..31, the same for all lanes
  table,  ///< the number of one of the program's tables
};

/// A row of the table of operations.
struct Operation {
  Opcode opcode;
  std::string_view name;
  Type result;
  int arity = 0;
  std::array<Type, 3> arguments{};  ///< the first `arity` count
  Literal literal = Literal::none;
  std::string_view meaning;
};

/// Every operation, in the order of Opcode.
const std::vector<Operation>& operations();
/// Null for a number that is no opcode.
const Operation* find_operation(Opcode opcode);
const Operation* find_operation(std::string_view name);

}  // namespace axrun::ir::lane
