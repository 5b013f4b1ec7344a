#include <numbers>

#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {

F32 erf_of(F32 x) {
  Builder& b = *x.builder;
  // erf x = x f(x^2): f as a polynomial of degree 15 in t = 2 x^2 / 3.82^2 - 1, which lies in [-1, 1] for
  // |x| <= 3.82, minimax there for the relative error of erf: 2^-26.05 with the coefficients rounded to f32.
  // Beyond, t stays 1 and x f(1) grows from there to the bound that erf reaches at 3.92. One polynomial
  // without a second branch costs half of what two accurate ones do; cancellation at t = -1 loses up to two
  // bits. NaN passes min and max as their second argument.
  const F32 t = min(b.constant(1.0F), fma(x * x, b.constant(0.137057647F), b.constant(-1.0F)));
  const F32 f =
      polynomial(t, {0.37016356F, -0.184699222F, 0.137129396F, -0.110878982F, 0.0908128545F, -0.0727131441F,
                     0.0557870567F, -0.0402384736F, 0.0267882962F, -0.0172230359F, 0.011290052F,
                     -0.00592595292F, 0.00176756224F, -0.00110360398F, 0.00134083291F, -0.000517125532F});
  return max(b.constant(-1.0F), min(b.constant(1.0F), x * f));
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
