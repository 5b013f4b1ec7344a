#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {
namespace {

/// e^x = 2^n * e^r with n the integer nearest to x / ln 2, so that |r| <= ln(2)/2 and a little.
struct Reduced {
  I32 n;
  F32 value;  ///< e^r
};

Reduced reduce(F32 x) {
  Builder& b = *x.builder;
  const I32 n = to_i32_nearest(x * b.constant(1.44269504F));
  // ln 2 in two parts: the upper one has 15 bits, so n * upper is exact, and so is the first difference.
  const F32 steps = to_f32(n);
  F32 r = fma(steps, b.constant_bits(0xbf317200U), x);  // -0.693145752
  r = fma(steps, b.constant_bits(0xb5bfbe8eU), r);      // -1.42860677e-06
  // e^r = 1 + r + r^2 q(r): q of degree 4 on [-0.3476, 0.3476], minimax for the relative error of e^r,
  // which is 2^-28.18 with the coefficients rounded to f32.
  const F32 q = polynomial(r, {0.49999994F, 0.166665137F, 0.0416680612F, 0.00836955011F, 0.00138438132F});
  return {n, fma(r * r, q, r) + b.constant(1.0F)};
}

/// 2^n for -126 <= n <= 127.
F32 power_of_two(I32 n) { return from_bits(shift_left(n + n.builder->integer(127), 23)); }

}  // namespace

F32 exp_of(F32 x) {
  const Reduced reduced = reduce(x);
  // -150 <= n <= 128 is too wide for one factor. The first product is exact, the second rounds once, also
  // where it is denormal.
  const I32 half = shift_right_arithmetic(reduced.n, 1);
  return reduced.value * power_of_two(half) * power_of_two(reduced.n - half);
}

F32 exp_of_moderate(F32 x) {
  const Reduced reduced = reduce(x);
  return reduced.value * power_of_two(reduced.n);
}

Program exp_program() {
  Builder b("exp");
  const F32 x = b.input();
  // Above the upper bound the result is that at the bound: infinity. Below the lower one it is 0, chosen and
  // not computed: products that vanish take a hundred times as long on many processors, and masked scores are
  // full of them. NaN passes because it is the second argument, and less than nothing.
  const Mask vanishes = x < b.constant(-104.0F);
  const F32 zero = b.constant(0.0F);
  return b.finish(select(vanishes, zero, exp_of(select(vanishes, zero, min(b.constant(89.0F), x)))));
}

}  // namespace axrun::ir::lane
