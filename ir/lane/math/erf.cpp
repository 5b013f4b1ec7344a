#include <array>
#include <numbers>

#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {
namespace {

/// erf(k/4 + r) for |r| <= 1/8 as a polynomial in r for each k = 0..15, minimax for the relative error of
/// erf: 2^-25 and less with the coefficients rounded to f32, but 2^-24.2 at k = 0, where the second one
/// rounds so. Row i is that of r^i. The last polynomial is raised so that it rounds to 1 where it ends.
constexpr std::array<std::array<float, 16>, 6> erf_coefficients = {{
    {0.0F, 0.276326388F, 0.520499885F, 0.711155653F, 0.842700779F, 0.92290014F, 0.966105163F, 0.986671686F,
     0.995322287F, 0.998537302F, 0.999593019F, 0.999899387F, 0.999977887F, 0.999995708F, 0.999999285F,
     0.999999881F},
    {1.12837923F, 1.06001425F, 0.87878263F, 0.642931104F, 0.415107489F, 0.236521125F, 0.118930288F,
     0.0527749956F, 0.0206669867F, 0.00714231934F, 0.00217828411F, 0.000586277281F, 0.000139253054F,
     2.91890265e-05F, 5.39942675e-06F, 9.59432214e-07F},
    {-1.48393947e-05F, -0.264999002F, -0.439388424F, -0.482204616F, -0.415101171F, -0.29565987F,
     -0.178406119F, -0.0923649371F, -0.041345302F, -0.0160793662F, -0.00543081248F, -0.00161679974F,
     -0.000406006468F, -0.000100577185F, -3.31137635e-05F, 1.78239486e-06F},
    {-0.375539929F, -0.309197724F, -0.146480381F, 0.0267740283F, 0.138371065F, 0.167533949F, 0.138752192F,
     0.090157792F, 0.0482229702F, 0.0217245333F, 0.0083500687F, 0.00276029971F, 0.000789053447F,
     0.000195788365F, 4.22882658e-05F, 9.63166531e-06F},
    {-0.00738866255F, 0.126092896F, 0.182127818F, 0.150670707F, 0.0688515007F, -0.00528695807F,
     -0.0436146297F, -0.0474065915F, -0.0337135866F, -0.0185440835F, -0.00961772725F, -0.00299415435F,
     -0.00180675345F, 7.42526609e-05F, 0.000839211221F, -0.000299305742F},
    {0.141583443F, 0.0811357573F, 0.00833110232F, -0.0520805679F, -0.0690615848F, -0.0470028147F,
     -0.0149367228F, 0.0065034437F, 0.0130331162F, 0.0106481826F, 0.00612698449F, 0.00277121365F,
     0.00102547836F, 0.000317750877F, 8.34687235e-05F, 1.87394708e-05F},
}};

}  // namespace

F32 erf_of(F32 x) {
  Builder& b = *x.builder;
  // From 3.875 on erf rounds to 1 or to the float below. NaN passes min as its second argument.
  const F32 magnitude = min(b.constant_bits(0x4077ffffU), abs(x));
  // Among floats of this size there is room for quarters only; the lower bits count them.
  const F32 shift = b.constant(3145728.0F);
  const F32 shifted = magnitude + shift;
  const F32 r = magnitude - (shifted - shift);
  return copysign(polynomial(r, bits(shifted), erf_coefficients), x);
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
