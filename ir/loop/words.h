#pragma once

// Words shared by the printer and the parser of loop programs.

#include <array>
#include <string_view>

namespace axrun::ir::loop {

inline constexpr std::array<std::string_view, 2> role_words = {"input", "output"};
inline constexpr std::array<std::string_view, 3> level_words = {"memory", "cache", "registers"};
inline constexpr std::array<std::string_view, 4> loop_words = {"for", "parallel", "unrolled", "vector"};
inline constexpr std::array<std::string_view, 5> combine_words = {"=", "+=", "*=", "min=", "max="};

/// Loops and calls nested deeper than this are refused.
inline constexpr int deepest_nesting = 64;

}  // namespace axrun::ir::loop
