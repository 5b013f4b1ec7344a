#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {

Program tanh_program() {
  Builder b("tanh");
  const F32 x = b.input();
  const F32 magnitude = abs(x);
  const F32 one = b.constant(1.0F);

  // tanh x = x + x^3 q(x^2): q of degree 4 for x <= 0.625, minimax for the relative error of tanh, which is
  // 2^-27.72 with the coefficients rounded to f32.
  const F32 square = magnitude * magnitude;
  const F32 q =
      polynomial(square, {-0.333332807F, 0.133314058F, -0.0537365153F, 0.0206281673F, -0.0056922962F});
  const F32 near_zero = fma(magnitude * square, q, magnitude);

  // tanh x = 1 - 2 / (e^2x + 1): no cancellation above 0.625. From 10 on this is 1. NaN passes min as its
  // second argument.
  const F32 bounded = min(b.constant(10.0F), magnitude);
  const F32 away = one - b.constant(2.0F) / (exp_of_moderate(bounded + bounded) + one);
  return b.finish(copysign(select(magnitude < b.constant(0.625F), near_zero, away), x));
}

}  // namespace axrun::ir::lane
