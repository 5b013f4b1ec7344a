#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {

F32 exp_of(F32 x) {
  Builder& b = *x.builder;
  // e^x = 2^n * e^r with n the integer nearest to x / ln 2, so that |r| <= ln(2)/2 and a little.
  // Among floats of this size there is no room for a fraction.
  const F32 shift = b.constant(12582912.0F);
  const F32 shifted = fma(x, b.constant(1.44269504F), shift);
  const F32 n = shifted - shift;
  // ln 2 in two parts: the upper one has 15 bits, so n * upper is exact, and so is the first difference.
  F32 r = fma(n, b.constant_bits(0xbf317200U), x);  // -0.693145752
  r = fma(n, b.constant_bits(0xb5bfbe8eU), r);      // -1.42860677e-06
  // e^r = 1 + r + r^2 q(r): q of degree 4 on [-0.3476, 0.3476], minimax for the relative error of e^r,
  // which is 2^-28.18 with the coefficients rounded to f32.
  return scale(
      polynomial(r, {1.0F, 1.0F, 0.49999994F, 0.166665137F, 0.0416680612F, 0.00836955011F, 0.00138438132F}),
      n);
}

Program exp_program() {
  Builder b("exp");
  const F32 x = b.input();
  // Above the upper bound the result is that at the bound: infinity. Below the lower one it is 0, chosen and
  // not computed: products that vanish take a hundred times as long on many processors, and masked scores are
  // full of them. NaN passes because it is the second argument, and not less than anything.
  const Mask appears = not_less(x, b.constant(-104.0F));
  const F32 bounded = where(appears, min(b.constant(89.0F), x));
  return b.finish(select(appears, exp_of(bounded), b.constant(0.0F)));
}

}  // namespace axrun::ir::lane
