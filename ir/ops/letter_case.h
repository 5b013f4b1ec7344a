#pragma once

#include <string>

namespace axrun::ir {

/// UTF-8 text with the letters of the Latin (through Extended-A), Greek, Cyrillic and Armenian alphabets in
/// lower or upper case, one code point for one: no locale is consulted. Everything else, and bytes that are
/// not UTF-8, stays.
std::string to_lower_case(const std::string& text);
std::string to_upper_case(const std::string& text);

}  // namespace axrun::ir
