#include <array>

#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {
namespace {

constexpr float width = 0.578125F;  // 37/64

/// tanh(k * width + r) for |r| <= width/2 as a polynomial in r for each k = 0..15, minimax for the relative
/// error of tanh: 2^-24.3 and less with the coefficients rounded to f32. Row i is that of r^i. The last
/// polynomial is raised so that it rounds to 1 where it ends.
constexpr std::array<std::array<float, 16>, 8> tanh_coefficients = {{
    {0.0F, 0.521301329F, 0.819814026F, 0.939570844F, 0.980583072F, 0.993849277F, 0.998060524F, 0.999389291F,
     0.999807775F, 0.999939501F, 0.999980986F, 0.99999404F, 0.999998093F, 0.999999404F, 0.999999821F,
     0.99999994F},
    {1.0F, 0.72824496F, 0.327904999F, 0.117206663F, 0.038456887F, 0.0122636482F, 0.00387524627F,
     0.0012210228F, 0.000384372717F, 0.00012096417F, 3.80646452e-05F, 1.19777287e-05F, 3.76897469e-06F,
     1.18596211e-06F, 3.73179688e-07F, 1.45966752e-07F},
    {-1.02275401e-07F, -0.379640043F, -0.268824428F, -0.110127784F, -0.0377154537F, -0.0121919122F,
     -0.00387383229F, -0.00121784408F, -0.000379969977F, -0.000117777578F, -4.20649521e-05F, -1.80833813e-05F,
     1.14256375e-06F, -5.27372265e-07F, -2.04389812e-06F, 7.63724472e-07F},
    {-0.333326697F, -0.0448507592F, 0.111080021F, 0.0644000471F, 0.0241589136F, 0.00802530628F,
     0.00256845867F, 0.000812524464F, 0.000256102037F, 8.06288226e-05F, 2.53748331e-05F, 7.98491146e-06F,
     2.51265806e-06F, 7.9063858e-07F, 2.48785085e-07F, 1.92149471e-07F},
    {-0.000142211342F, 0.150080115F, -0.00134073209F, -0.0236834865F, -0.0109523265F, -0.00379557791F,
     -0.00107990636F, -0.000482726173F, -0.000265791314F, -0.000141541546F, 0.000114720562F, 0.000190434934F,
     -0.000157656221F, -2.13670319e-05F, 5.30770085e-05F, -2.49540208e-05F},
    {0.134707168F, -0.0467403345F, -0.0285111833F, 0.00351393665F, 0.0037101747F, 0.00148846291F,
     0.000502465526F, 0.000161268035F, 5.10526916e-05F, 1.60948439e-05F, 5.07862205e-06F, 1.59973979e-06F,
     5.01809666e-07F, 1.58140324e-07F, 4.97884898e-08F, 1.5057724e-08F},
    {-0.00639145635F, -0.035169635F, 0.0166976936F, 0.00135531486F, -0.00208632369F, -0.00138188747F,
     -0.00171026529F, 0.000563101727F, 0.00108037086F, 0.000800644455F, -0.00101611682F, -0.00154856476F,
     0.00124508608F, 0.000166923506F, -0.000423605816F, 0.000198367445F},
    {-0.0415443629F, 0.0274165738F, -0.00338385324F, -0.0021848022F, -7.97811008e-05F, 8.31165307e-05F,
     3.73992225e-05F, 1.5481115e-05F, 5.26716804e-06F, 1.68259123e-06F, 4.46275834e-07F, 1.30644509e-07F,
     5.37307088e-08F, 1.51293289e-08F, 4.53573268e-09F, 8.71177264e-09F},
}};

}  // namespace

Program tanh_program() {
  Builder b("tanh");
  const F32 x = b.input();
  // From 15.5 widths on tanh rounds to 1. NaN passes min as its second argument.
  const F32 magnitude = min(b.constant_bits(0x410f5fffU), abs(x));
  // Among floats of the shift's size there is no room for a fraction; the lower bits are those of k. The
  // width has 6 bits, so k * width is exact, and so is what remains.
  const F32 shift = b.constant(12582912.0F);
  const F32 shifted = fma(magnitude, b.constant(1.0F / width), shift);
  const F32 r = fma(shifted - shift, b.constant(-width), magnitude);
  return b.finish(copysign(polynomial(r, bits(shifted), tanh_coefficients), x));
}

}  // namespace axrun::ir::lane
