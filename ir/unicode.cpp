#include "ir/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>

namespace axrun::ir {
namespace {

template <typename Change>
std::string changed(std::string_view text, Change change) {
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.length == 0) {
      result += text[at++];
      continue;
    }
    at += character.length;
    std::array<utf8proc_uint8_t, 4> bytes;
    const auto letter = change(static_cast<utf8proc_int32_t>(character.point));
    const auto length = utf8proc_encode_char(letter, bytes.data());
    result.append(bytes.begin(), bytes.begin() + length);
  }
  return result;
}

/// utf8proc has a capital for the German sharp s, Unicode's simple mapping has none.
utf8proc_int32_t upper(utf8proc_int32_t letter) {
  constexpr utf8proc_int32_t sharp_s = 0xDF;
  return letter == sharp_s ? letter : utf8proc_toupper(letter);
}

}  // namespace

Character character_at(std::string_view text, size_t at) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  constexpr size_t longest = 4;
  utf8proc_int32_t point = 0;
  const auto length =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(std::min(longest, text.size() - at)), &point);
  if (length <= 0) return {};
  return {static_cast<uint32_t>(point), static_cast<size_t>(length)};
}

std::string to_lower_case(std::string_view text) { return changed(text, utf8proc_tolower); }
std::string to_upper_case(std::string_view text) { return changed(text, upper); }

}  // namespace axrun::ir
