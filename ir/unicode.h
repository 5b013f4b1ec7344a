#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace axrun::ir {

/// A code point, and the bytes of UTF-8 that it takes; of no bytes where what is there is not UTF-8.
struct Character {
  uint32_t point = 0;
  size_t length = 0;
};
/// The one that begins at `at`, which is before the text's end.
Character character_at(std::string_view text, size_t at);

/// Each letter in lower or upper case by Unicode's simple case mapping: one code point for one, no locale, no
/// context. Everything else, and bytes that are not UTF-8, stays.
std::string to_lower_case(std::string_view text);
std::string to_upper_case(std::string_view text);

}  // namespace axrun::ir
