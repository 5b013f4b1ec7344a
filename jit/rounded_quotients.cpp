#include "jit/rounded_quotients.h"

#include <cmath>

namespace axrun::jit {

Reciprocal::Reciprocal(float divisor) {
  const double whole = 1 / static_cast<double>(divisor);
  high = static_cast<float>(whole);
  low = static_cast<float>(whole - static_cast<double>(high));
}

float quotient(float x, const Reciprocal& of_divisor) {
  return std::fma(x, of_divisor.high, x * of_divisor.low);
}

bool rounds_as_quotient(float divisor, int64_t least, int64_t most) {
  constexpr float smallest = 0x1p-60F, largest = 0x1p60F;
  if (!(divisor >= smallest && divisor <= largest)) return false;
  // Both are within a unit in the last place of the true quotient, the reciprocal's error included.
  constexpr int neighbours = 4;
  const Reciprocal reciprocal(divisor);
  for (int64_t k = least - 1; k <= most; ++k) {
    float x = (static_cast<float>(k) + 0.5F) * divisor;
    for (int n = 0; n < neighbours; ++n) x = std::nextafter(x, -INFINITY);
    for (int n = -neighbours; n <= neighbours; ++n, x = std::nextafter(x, INFINITY)) {
      if (std::nearbyint(quotient(x, reciprocal)) != std::nearbyint(x / divisor)) return false;
    }
  }
  return true;
}

}  // namespace axrun::jit
