#include "ir/ops/regex_classes.h"

#include <algorithm>
#include <array>

#include "ir/lasting.h"

namespace axrun::ir {
namespace {

const Ranges& digits = lasting<Ranges>({{'0', '9'}});
const Ranges& spaces = lasting<Ranges>({{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}});
const Ranges& word = lasting<Ranges>({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});

struct NamedClass {
  std::string_view name;
  Ranges ranges;
};
const auto& posix_classes = lasting<std::array<NamedClass, 14>>({{
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
    {"ascii", {{0, 0x7F}}},
    {"blank", {{'\t', '\t'}, {' ', ' '}}},
    {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}}},
    {"digit", {{'0', '9'}}},
    {"graph", {{'!', '~'}}},
    {"lower", {{'a', 'z'}}},
    {"print", {{' ', '~'}}},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", {{'\t', '\r'}, {' ', ' '}}},
    {"upper", {{'A', 'Z'}}},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
}});

}  // namespace

Ranges normalized(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Ranges merged;
  for (const auto& range : ranges) {
    if (!merged.empty() && range.first <= merged.back().last + 1) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

Ranges complement(const Ranges& ranges) {
  Ranges result;
  uint32_t next = 0;
  for (const auto& range : normalized(ranges)) {
    if (range.first > next) result.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= highest_code_point) result.push_back({next, highest_code_point});
  return result;
}

void append(Ranges& to, const Ranges& more) { to.insert(to.end(), more.begin(), more.end()); }

Ranges without_case(const Ranges& ranges) {
  Ranges result = ranges;
  for (const auto& range : ranges) {
    for (uint32_t base : {uint32_t{'A'}, uint32_t{'a'}}) {
      const uint32_t first = std::max(range.first, base);
      const uint32_t last = std::min(range.last, base + 25);
      if (first <= last) result.push_back({first ^ 0x20U, last ^ 0x20U});
    }
  }
  return result;
}

const Ranges& digit_class() { return digits; }
const Ranges& space_class() { return spaces; }
const Ranges& word_class() { return word; }

const Ranges* posix_class_named(std::string_view name) {
  for (const NamedClass& known : posix_classes) {
    if (known.name == name) return &known.ranges;
  }
  return nullptr;
}

}  // namespace axrun::ir
