#include "onnx_import/names.h"

#include <fmt/format.h>

#include <cstring>

#include "ir/unicode.h"

namespace axrun::onnx_import {
namespace {

/// Bytes of the character at `position`; 0 where there is no UTF-8, or a control character.
size_t printable_length(std::string_view text, size_t position) {
  const ir::Character character = ir::character_at(text, position);
  const bool is_control = character.point < 0x20 || (character.point >= 0x7F && character.point < 0xA0);
  return is_control ? 0 : character.length;
}

}  // namespace

bool is_printable_ascii(std::string_view name) {
  // Eight bytes at a time: bit 7 of each is set where the byte is below 0x20, 0x7F, or above.
  constexpr uint64_t ones = 0x0101010101010101;
  constexpr uint64_t high = 0x80 * ones;
  const auto outside = [](uint64_t x) { return (x | (x + ones) | ~((x | high) - 0x20 * ones)) & high; };
  uint64_t found = 0;
  while (name.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, name.data(), 8);
    found |= outside(word);
    name.remove_prefix(8);
  }
  for (const char c : name) found |= static_cast<uint8_t>(c - 0x20) > 0x7E - 0x20;
  return found == 0;
}

std::string printable(std::string_view name) {
  if (is_printable_ascii(name)) return std::string(name);
  std::string result;
  result.reserve(name.size());
  for (size_t position = 0; position < name.size();) {
    const size_t length = printable_length(name, position);
    if (length == 0) {
      result += fmt::format("\\x{:02x}", static_cast<uint8_t>(name[position++]));
    } else {
      result += name.substr(position, length);
      position += length;
    }
  }
  return result;
}

std::string in_quotes(std::string_view name) {
  constexpr size_t shown = 200;
  if (name.size() <= shown) return "'" + printable(name) + "'";
  size_t cut = shown;
  while (cut > shown - 4 && (static_cast<uint8_t>(name[cut]) & 0xC0) == 0x80) --cut;
  return "'" + printable(name.substr(0, cut)) + "...'";
}

std::string UniqueNames::take(std::string_view prefix, std::string_view name) {
  std::string_view wanted = name;
  if (!prefix.empty() || !is_printable_ascii(name)) wanted = keep(std::string(prefix) + printable(name));
  if (taken_.insert(wanted).second) return std::string(wanted);
  int64_t& suffix = next_.try_emplace(wanted, 2).first->second;
  while (true) {
    const std::string_view candidate = keep(fmt::format("{}_{}", wanted, suffix++));
    if (taken_.insert(candidate).second) return std::string(candidate);
    made_.pop_back();
  }
}

}  // namespace axrun::onnx_import
