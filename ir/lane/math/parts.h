#pragma once

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

/// e^x for -104 <= x <= 89, NaN for NaN; at most about 1 ulp off. Overflows to infinity and underflows
/// through the denormals to zero as e^x does.
F32 exp_of(F32 x);
/// The same for -87 <= x <= 88, where results are normal: scales once instead of twice.
F32 exp_of_moderate(F32 x);
/// erf(x), for any x.
F32 erf_of(F32 x);

}  // namespace axrun::ir::lane
