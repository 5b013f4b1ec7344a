#include "ir/ops/letter_case.h"

#include <array>
#include <cstdint>

namespace axrun::ir {
namespace {

/// Capital letters first..last (every second one where step is 2) are `distance` below their small letters.
/// Source: Unicode Character Database, simple case mappings.
struct LetterRange {
  uint32_t first;
  uint32_t last;
  uint32_t step;
  uint32_t distance;
};
constexpr std::array<LetterRange, 22> ranges = {{
    {0x41, 0x5A, 1, 32},    // Basic Latin
    {0xC0, 0xD6, 1, 32},    // Latin-1
    {0xD8, 0xDE, 1, 32},    //
    {0x100, 0x12E, 2, 1},   // Latin Extended-A, in pairs
    {0x132, 0x136, 2, 1},   //
    {0x139, 0x147, 2, 1},   //
    {0x14A, 0x176, 2, 1},   //
    {0x179, 0x17D, 2, 1},   //
    {0x386, 0x386, 1, 38},  // Greek
    {0x388, 0x38A, 1, 37},  //
    {0x38C, 0x38C, 1, 64},  //
    {0x38E, 0x38F, 1, 63},  //
    {0x391, 0x3A1, 1, 32},  //
    {0x3A3, 0x3AB, 1, 32},  //
    {0x400, 0x40F, 1, 80},  // Cyrillic
    {0x410, 0x42F, 1, 32},  //
    {0x460, 0x480, 2, 1},   //
    {0x48A, 0x4BE, 2, 1},   //
    {0x4C0, 0x4C0, 1, 15},  //
    {0x4C1, 0x4CD, 2, 1},   //
    {0x4D0, 0x52E, 2, 1},   //
    {0x531, 0x556, 1, 48},  // Armenian
}};

uint32_t lower(uint32_t letter) {
  if (letter == 0x178) return 0xFF;  // Y with diaeresis: the small letter is in Latin-1
  for (const LetterRange& r : ranges) {
    if (letter >= r.first && letter <= r.last && (letter - r.first) % r.step == 0) return letter + r.distance;
  }
  return letter;
}

uint32_t upper(uint32_t letter) {
  if (letter == 0xFF) return 0x178;
  for (const LetterRange& r : ranges) {
    const uint32_t capital = letter - r.distance;  // wraps for letters below every range: then it is in none
    if (capital >= r.first && capital <= r.last && (capital - r.first) % r.step == 0) return capital;
  }
  return letter;
}

/// Two-byte UTF-8 holds 0x80..0x7FF, and with it every letter above that has a case here.
template <typename Change>
std::string changed(const std::string& text, Change change) {
  std::string result;
  for (size_t k = 0; k < text.size(); ++k) {
    const auto byte = static_cast<uint8_t>(text[k]);
    const auto next = static_cast<uint8_t>(k + 1 < text.size() ? text[k + 1] : 0);
    if (byte < 0x80) {
      result.push_back(static_cast<char>(change(byte)));
    } else if (byte >= 0xC2 && byte < 0xE0 && (next & 0xC0) == 0x80) {
      const uint32_t letter = change((byte & 0x1FU) << 6 | (next & 0x3FU));
      result.push_back(static_cast<char>(0xC0 | letter >> 6));
      result.push_back(static_cast<char>(0x80 | (letter & 0x3F)));
      ++k;
    } else {
      result.push_back(text[k]);
    }
  }
  return result;
}

}  // namespace

std::string to_lower_case(const std::string& text) { return changed(text, lower); }
std::string to_upper_case(const std::string& text) { return changed(text, upper); }

}  // namespace axrun::ir
