#include "runtime/optimizer/kernel_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace axrun::runtime {

bool alike(const SizeValues& a, const SizeValues& b) {
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return false;
    const double ratio = (static_cast<double>(value) + 1) / (static_cast<double>(other->second) + 1);
    if (ratio > 2 || ratio < 0.5) return false;
  }
  return true;
}

double distance(const SizeValues& a, const SizeValues& b) {
  double sum = 0;
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return HUGE_VAL;
    sum += std::fabs(std::log2((static_cast<double>(value) + 1) / (static_cast<double>(other->second) + 1)));
  }
  return sum;
}

bool covers(const search::Sizes& ranges, const SizeValues& sizes) {
  return std::all_of(ranges.begin(), ranges.end(), [&](const ir::loop::Size& range) {
    const auto found = sizes.find(range.name);
    return found != sizes.end() && found->second >= range.low && found->second <= range.high &&
           found->second % range.divisor == 0;
  });
}

std::string text_of(const search::Sizes& ranges) {
  std::string text;
  for (const ir::loop::Size& range : ranges) {
    text += fmt::format("{}{}: {}..{}", text.empty() ? "" : ", ", range.name, range.low, range.high);
  }
  return text;
}

std::string text_of(const verify::TestedSizes& tested) {
  std::string text;
  for (const SizeValues& sizes : tested.sizes()) {
    std::string one;
    for (const auto& [name, value] : sizes)
      one += fmt::format("{}{}={}", one.empty() ? "" : ", ", name, value);
    text += (text.empty() ? "" : " | ") + one;
  }
  return text;
}

search::Sizes ranges_around(const StepExpression& expression, const SizeValues& sizes) {
  constexpr int64_t common = int64_t{1} << 14;
  search::Sizes ranges;
  for (const std::string& name : expression.symbols) {
    const int64_t value = sizes.at(name);
    int64_t high = common;
    while (high < value) high *= 2;
    ranges.push_back(value < 2 ? ir::loop::Size{name, value, value, 1} : ir::loop::Size{name, 2, high, 1});
  }
  return ranges;
}

}  // namespace axrun::runtime
