#include <numbers>

#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {

F32 erf_of(F32 x) {
  Builder& b = *x.builder;
  // From 3.92 on erf rounds to 1, and so does the polynomial at this bound. NaN passes min and max as their
  // second argument.
  const F32 bounded = max(b.constant(-3.9204F), min(b.constant(3.9204F), x));
  // erf x = x f(x^2): f as a polynomial of degree 15 in t = 2 x^2 / 3.9192059^2 - 1, which lies in [-1, 1],
  // minimax for the relative error of erf: 2^-25.25 with the coefficients rounded to f32. One polynomial
  // without a second branch costs half of what two accurate ones do; cancellation at t = -1 loses up to two
  // bits.
  const F32 t = fma(bounded * bounded, b.constant(0.130206851F), b.constant(-1.0F));
  const F32 f =
      polynomial(t, {0.360809803F, -0.18014431F, 0.134108603F, -0.109193385F, 0.0906001404F, -0.0740113035F,
                     0.0583768338F, -0.043412555F, 0.029675452F, -0.0199727714F, 0.0141845075F,
                     -0.00764540397F, 0.00191960693F, -0.00139225123F, 0.00209148251F, -0.000840734865F});
  return max(b.constant(-1.0F), min(b.constant(1.0F), bounded * f));
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
