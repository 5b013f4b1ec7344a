#include "ir/lane/operation.h"

#include <algorithm>

#include "ir/lasting.h"

namespace axrun::ir::lane {
namespace {

using enum Type;

constexpr std::string_view minimum = "a < b ? a : b: b where either is NaN or both are zeros; moves bits";
constexpr std::string_view maximum = "a > b ? a : b: b where either is NaN or both are zeros; moves bits";
constexpr std::string_view nearest =
    "nearest integer, ties to even; NaN and what lies outside [-2^31, 2^31) give -2^31";
constexpr std::string_view truncated = "integer part; NaN and what lies outside (-2^31 - 1, 2^31) give -2^31";
constexpr std::string_view scaled =
    "a * 2^b, rounded once, for 1/4 <= |a| <= 4 and integers -150 <= b <= 150; NaN where both are NaN; not "
    "specified elsewhere";
constexpr std::string_view elsewhere =
    "b where a; elsewhere not specified, but nothing that makes what follows slow; moves bits";

std::vector<Operation> table() {
  using enum Opcode;
  const auto none = Literal::none;
  const auto shift = Literal::shift;
  const auto of_table = Literal::table;
  return {
      {input, "input", f32, 0, {}, none, "the next argument of the program"},
      {constant, "constant", f32, 0, {}, Literal::f32, "the float with these bits"},
      {add, "add", f32, 2, {f32, f32}, none, "a + b"},
      {sub, "sub", f32, 2, {f32, f32}, none, "a - b"},
      {mul, "mul", f32, 2, {f32, f32}, none, "a * b"},
      {div, "div", f32, 2, {f32, f32}, none, "a / b"},
      {fma, "fma", f32, 3, {f32, f32, f32}, none, "a * b + c, rounded once"},
      {sqrt, "sqrt", f32, 1, {f32}, none, "square root; of -0, -0"},
      {min, "min", f32, 2, {f32, f32}, none, minimum},
      {max, "max", f32, 2, {f32, f32}, none, maximum},
      {neg, "neg", f32, 1, {f32}, none, "sign flipped; moves bits"},
      {abs, "abs", f32, 1, {f32}, none, "sign cleared; moves bits"},
      {copysign, "copysign", f32, 2, {f32, f32}, none, "a with the sign of b; moves bits"},
      {round_even, "round_even", f32, 1, {f32}, none, "nearest integer, ties to even, sign of zero kept"},
      {floor, "floor", f32, 1, {f32}, none, "largest integer not above a, sign of zero kept"},
      {select, "select", f32, 3, {mask, f32, f32}, none, "b where a, else c; moves bits"},
      {where, "where", f32, 2, {mask, f32}, none, elsewhere},
      {equal, "equal", mask, 2, {f32, f32}, none, "a == b; false for NaN"},
      {less, "less", mask, 2, {f32, f32}, none, "a < b; false for NaN"},
      {less_equal, "less_equal", mask, 2, {f32, f32}, none, "a <= b; false for NaN"},
      {unordered, "unordered", mask, 2, {f32, f32}, none, "a or b is NaN"},
      {not_less, "not_less", mask, 2, {f32, f32}, none, "not a < b: true for NaN"},
      {scale, "scale", f32, 2, {f32, f32}, none, scaled},
      {to_i32_nearest, "to_i32_nearest", i32, 1, {f32}, none, nearest},
      {to_i32_truncate, "to_i32_truncate", i32, 1, {f32}, none, truncated},
      {bits, "bits", i32, 1, {f32}, none, "the same bits as an integer"},
      {i32_input, "i32_input", i32, 0, {}, none, "the next argument of the program"},
      {i32_constant, "i32_constant", i32, 0, {}, Literal::i32, "this integer"},
      {i32_add, "i32_add", i32, 2, {i32, i32}, none, "a + b modulo 2^32"},
      {i32_sub, "i32_sub", i32, 2, {i32, i32}, none, "a - b modulo 2^32"},
      {i32_mul, "i32_mul", i32, 2, {i32, i32}, none, "a * b modulo 2^32"},
      {i32_and, "i32_and", i32, 2, {i32, i32}, none, "a & b"},
      {i32_or, "i32_or", i32, 2, {i32, i32}, none, "a | b"},
      {i32_xor, "i32_xor", i32, 2, {i32, i32}, none, "a ^ b"},
      {i32_shift_left, "i32_shift_left", i32, 1, {i32}, shift, "zeros enter"},
      {i32_shift_right, "i32_shift_right", i32, 1, {i32}, shift, "zeros enter"},
      {i32_shift_right_arithmetic, "i32_shift_right_arithmetic", i32, 1, {i32}, shift, "the sign enters"},
      {i32_select, "i32_select", i32, 3, {mask, i32, i32}, none, "b where a, else c"},
      {i32_equal, "i32_equal", mask, 2, {i32, i32}, none, "a == b"},
      {i32_less, "i32_less", mask, 2, {i32, i32}, none, "a < b, signed"},
      {i32_to_f32, "i32_to_f32", f32, 1, {i32}, none, "nearest float, ties to even"},
      {from_bits, "from_bits", f32, 1, {i32}, none, "the same bits as a float"},
      {lookup, "lookup", f32, 1, {i32}, of_table, "entry a modulo 16 of a table; moves bits"},
      {mask_and, "mask_and", mask, 2, {mask, mask}, none, "a and b"},
      {mask_or, "mask_or", mask, 2, {mask, mask}, none, "a or b"},
      {mask_xor, "mask_xor", mask, 2, {mask, mask}, none, "either, not both"},
      {mask_not, "mask_not", mask, 1, {mask}, none, "not a"},
  };
}

}  // namespace

std::string_view name_of(Type type) {
  switch (type) {
    case f32:
      return "f32";
    case i32:
      return "i32";
    case mask:
      return "mask";
  }
  return "?";
}

const std::vector<Operation>& operations() {
  static const auto& rows = lasting(table());
  return rows;
}

const Operation* find_operation(Opcode opcode) {
  const auto index = static_cast<size_t>(opcode);
  return index < operations().size() ? &operations()[index] : nullptr;
}

const Operation* find_operation(std::string_view name) {
  const auto row = std::find_if(operations().begin(), operations().end(),
                                [&](const Operation& candidate) { return candidate.name == name; });
  return row == operations().end() ? nullptr : &*row;
}

}  // namespace axrun::ir::lane
