#include "onnx_import/names.h"

#include <fmt/format.h>

#include <cstring>

namespace axrun::onnx_import {
namespace {

/// Length of the well-formed UTF-8 sequence that starts at `position` and is no control character; 0
/// otherwise. The Unicode Standard, table 3-7.
size_t sequence_length(std::string_view text, size_t position) {
  const auto byte = [&](size_t k) -> uint32_t {
    return position + k < text.size() ? static_cast<uint8_t>(text[position + k]) : 0;
  };
  const auto continues = [&](size_t k) { return (byte(k) & 0xC0) == 0x80; };
  const uint32_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  if (first >= 0xC2 && first <= 0xDF) {
    const bool control = first == 0xC2 && byte(1) < 0xA0;
    return continues(1) && !control ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool beyond = first == 0xF4 && byte(1) > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
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
    const size_t length = sequence_length(name, position);
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
