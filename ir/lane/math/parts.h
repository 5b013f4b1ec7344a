#pragma once

#include <array>
#include <initializer_list>

#include "ir/lane/builder.h"

namespace axrun::ir::lane {

/// c0 + x * (c1 + x * (c2 + ...)), one fused multiply-add for each coefficient but the last.
inline F32 polynomial(F32 x, std::initializer_list<float> coefficients) {
  const float* next = coefficients.end();
  F32 sum = x.builder->constant(*--next);
  while (next != coefficients.begin()) sum = fma(sum, x, x.builder->constant(*--next));
  return sum;
}

/// The same where `k` modulo 16 chooses each coefficient: row i holds those of x^i.
template <size_t rows>
F32 polynomial(F32 x, I32 k, const std::array<std::array<float, 16>, rows>& coefficients) {
  F32 sum = x.builder->lookup(k, coefficients.back());
  for (size_t i = rows - 1; i-- > 0;) sum = fma(sum, x, x.builder->lookup(k, coefficients[i]));
  return sum;
}

/// e^x for -104 <= x <= 89, NaN for NaN; at most about 1 ulp off. Overflows to infinity and underflows
/// through the denormals to zero as e^x does.
F32 exp_of(F32 x);
/// erf(x), for any x.
F32 erf_of(F32 x);

}  // namespace axrun::ir::lane
