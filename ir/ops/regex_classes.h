#pragma once

#include <string_view>
#include <vector>

#include "ir/ops/regex.h"

namespace axrun::ir {

// Sets of code points as lists of ranges.

using Ranges = std::vector<Regex::Range>;
inline constexpr uint32_t highest_code_point = 0x10FFFF;

/// Sorted and merged.
Ranges normalized(Ranges ranges);
Ranges complement(const Ranges& ranges);
void append(Ranges& to, const Ranges& more);
/// With the other case of ASCII letters.
Ranges without_case(const Ranges& ranges);

// RE2's classes are ASCII.
const Ranges& digit_class();
const Ranges& space_class();
const Ranges& word_class();
/// The class of [[:name:]]; nullptr when there is none.
const Ranges* posix_class_named(std::string_view name);

}  // namespace axrun::ir
