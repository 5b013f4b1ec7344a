#include <limits>

#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {

Program log_program() {
  Builder b("log");
  const F32 x = b.input();
  const F32 zero = b.constant(0.0F);
  const F32 infinity = b.constant(std::numeric_limits<float>::infinity());

  // Denormals times 2^23 are normal.
  const Mask small = x < b.constant_bits(0x00800000U);
  const F32 scaled = select(small, x * b.constant(8388608.0F), x);
  const F32 scale = select(small, b.constant(-23.0F), zero);

  // scaled = 2^e m with sqrt(1/2) <= m < sqrt(2): subtracting the bits of sqrt(1/2) borrows from the exponent
  // where the mantissa is smaller.
  const I32 pattern = bits(scaled);
  const I32 exponent = shift_right_arithmetic(pattern - b.integer(0x3f3504f3), 23);
  const F32 e = to_f32(exponent) + scale;
  const F32 f = from_bits(pattern - shift_left(exponent, 23)) - b.constant(1.0F);

  // log(1 + f) = f - f^2/2 + f^3 q(f): q of degree 7 on [sqrt(1/2) - 1, sqrt(2) - 1], minimax for the
  // relative error of log(1 + f), which is 2^-27.22 with the coefficients rounded to f32.
  const F32 q = polynomial(f, {0.333333313F, -0.250008196F, 0.200012267F, -0.166233584F, 0.142017633F,
                               -0.13160181F, 0.127615541F, -0.0763447434F});
  const F32 square = f * f;
  // ln 2 in two parts; the upper one has 15 bits, so e * upper is exact. Small terms are added first.
  F32 tail = fma(f * square, q, e * b.constant_bits(0x35bfbe8eU));  // 1.42860677e-06
  tail = fma(square, b.constant(-0.5F), tail);
  const F32 finite = fma(e, b.constant_bits(0x3f317200U), f + tail);  // 0.693145752

  // Infinity and NaN stay as they are; zeros give -infinity, negative numbers NaN.
  const F32 upper = select(not_less(x, infinity), x, finite);
  const F32 at_zero = select(x == zero, b.constant(-std::numeric_limits<float>::infinity()), upper);
  return b.finish(select(x < zero, b.constant_bits(0x7fc00000U), at_zero));
}

}  // namespace axrun::ir::lane
