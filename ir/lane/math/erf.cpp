#include <numbers>

#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {

F32 erf_of(F32 x) {
  Builder& b = *x.builder;
  const F32 magnitude = abs(x);

  // erf x = x + x p(x^2): p of degree 6 for x <= 0.9375, minimax for the relative error of erf, which is
  // 2^-26.54 with the coefficients rounded to f32.
  const F32 p = polynomial(magnitude * magnitude, {0.128379166F, -0.376126319F, 0.112836793F, -0.0268584974F,
                                                   0.00519883027F, -0.000811807928F, 8.2674771e-05F});
  const F32 near_zero = fma(magnitude, p, magnitude);

  // erf x = 1 - e^g(x) with g(x) = log(1 - erf x): g of degree 7 on [0.9, 4], minimax for the relative error
  // of erf, which is 2^-32.4 with the coefficients rounded to f32. From 4 on erf rounds to 1. NaN passes min
  // as its second argument.
  const F32 bounded = min(b.constant(4.0F), magnitude);
  const F32 g = polynomial(bounded, {0.000169205436F, -1.12948835F, -0.633401155F, -0.108219743F,
                                     0.0250799302F, -0.00415586634F, 0.000431286375F, -2.0817939e-05F});
  const F32 away = b.constant(1.0F) - exp_of_moderate(g);
  return copysign(select(magnitude < b.constant(0.9375F), near_zero, away), x);
}

Program erf_program() {
  Builder b("erf");
  return b.finish(erf_of(b.input()));
}

Program gelu_program() {
  Builder b("gelu");
  const F32 x = b.input();
  const F32 erf = erf_of(x * b.constant(std::numbers::sqrt2_v<float> / 2));
  return b.finish(x * b.constant(0.5F) * (b.constant(1.0F) + erf));
}

}  // namespace axrun::ir::lane
