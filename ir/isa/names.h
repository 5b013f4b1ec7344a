#pragma once

#include <optional>
#include <string_view>

#include "ir/isa/semantics.h"

/// How operations are spelled; shared by the parser and the printer.
namespace axrun::ir::isa {

struct Infix {
  std::string_view symbol;
  Op op;
  int binding;  ///< larger binds tighter; all associate to the left
};

/// Longer symbols before their prefixes. Binding is Python's, not C's: a & 3 == b means (a & 3) == b.
inline constexpr Infix infixes[] = {
    {"or", Op::logical_or, 1},  {"and", Op::logical_and, 2}, {"==", Op::equal, 3},
    {"!=", Op::not_equal, 3},   {"<=", Op::less_equal, 3},   {"<<", Op::shift_left, 7},
    {">>", Op::shift_right, 7}, {"<", Op::less, 3},          {"|", Op::bit_or, 4},
    {"^", Op::bit_xor, 5},      {"&", Op::bit_and, 6},       {"+", Op::add, 8},
    {"-", Op::subtract, 8},     {"*", Op::multiply, 9},      {"/", Op::divide, 9},
    {"%", Op::modulo, 9},
};
inline constexpr int tightest = 10;

struct Function {
  std::string_view name;  ///< ends in _ when a lane type follows
  Op op;
  int arguments;
};

inline constexpr Function functions[] = {
    {"wrap_", Op::wrap, 1},
    {"sat_", Op::saturate, 1},
    {"near_", Op::near, 1},
    {"trunc_", Op::truncate, 1},
    {"to_", Op::convert, 1},
    {"narrow_", Op::narrow, 2},
    {"as_", Op::from_bits, 1},
    {"bits", Op::bits, 1},
    {"min", Op::minimum, 2},
    {"max", Op::maximum, 2},
    {"abs", Op::absolute, 1},
    {"sqrt", Op::square_root, 1},
    {"fma", Op::fma, 3},
    {"fms", Op::fms, 3},
    {"fnma", Op::fnma, 3},
    {"fnms", Op::fnms, 3},
    {"scale", Op::scale, 2},
    {"round", Op::round, 2},
    {"daz", Op::denormal_as_zero, 1},
    {"unordered", Op::unordered, 2},
    {"within", Op::within, 3},
    {"not", Op::logical_not, 1},
};

std::optional<Lane> parse_lane(std::string_view name);

}  // namespace axrun::ir::isa
