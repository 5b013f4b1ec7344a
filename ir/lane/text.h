#pragma once

#include <string>
#include <string_view>

#include "ir/lane/program.h"

namespace axrun::ir::lane {

/// The text form, one instruction on a line; # starts a comment. print and parse are inverses on valid
/// programs, and the text of a program identifies it (results of tests are stored by its hash).
///
///     lane scaled {
///       %0 = input
///       %1 = constant 0x3fb8aa3b  # 1.44269502
///       %2 = mul %0, %1
///       %3 = to_i32_nearest %2
///       %4 = i32_constant 127
///       %5 = i32_add %3, %4
///       %6 = i32_shift_left %5, 23
///       return %2, %6
///     }
///
/// Values are numbered in order. A float constant is its bits; an integer constant is decimal, with a sign;
/// the number of bits of a shift is the last operand.
std::string print(const Program& program);

/// Throws Error(user), with line and column or with the rule of the grammar that is broken.
Program parse(std::string_view text);

}  // namespace axrun::ir::lane
