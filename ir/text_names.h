#pragma once

// Words shared by the printer and the parser of tensor expressions.

#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "ir/arithmetic.h"

namespace axrun::ir::text {

inline constexpr std::array<std::string_view, 5> monoid_words = {"sum", "product", "min", "max", "tuple"};
inline constexpr std::array<std::string_view, 5> stage_words = {"map", "reduce", "scan", "scatter", "opaque"};
inline constexpr std::array<std::string_view, 5> scatter_words = {"assign", "add", "mul", "min", "max"};

/// Infix operations; higher binds tighter, all are left-associative. Others are written as calls.
struct Infix {
  ScalarOp op;
  std::string_view symbol;
  int strength;
};
inline constexpr std::array<Infix, 12> infixes = {{{ScalarOp::logical_or, "or", 1},
                                                   {ScalarOp::logical_and, "and", 2},
                                                   {ScalarOp::equal, "==", 3},
                                                   {ScalarOp::not_equal, "!=", 3},
                                                   {ScalarOp::less, "<", 3},
                                                   {ScalarOp::less_equal, "<=", 3},
                                                   {ScalarOp::greater, ">", 3},
                                                   {ScalarOp::greater_equal, ">=", 3},
                                                   {ScalarOp::add, "+", 4},
                                                   {ScalarOp::sub, "-", 4},
                                                   {ScalarOp::mul, "*", 5},
                                                   {ScalarOp::div, "/", 5}}};

inline bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
inline bool continues_word(char c) {
  return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

/// Words that mean something where a name may stand.
inline bool is_reserved(std::string_view word) {
  constexpr std::array<std::string_view, 8> reserved = {"none", "true", "false", "time",
                                                        "inf",  "nan",  "or",    "and"};
  for (std::string_view other : reserved) {
    if (word == other) return true;
  }
  return false;
}

/// Nesting of brackets that the parser follows; the printer stays far below it.
inline constexpr int deepest_nesting = 256;
/// Height of an expression that the printer writes without naming a part of it.
inline constexpr int tallest_expression = 24;

}  // namespace axrun::ir::text
