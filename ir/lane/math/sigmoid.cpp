#include "ir/lane/math/math.h"
#include "ir/lane/math/parts.h"

namespace axrun::ir::lane {

Program sigmoid_program() {
  Builder b("sigmoid");
  const F32 x = b.input();
  const F32 one = b.constant(1.0F);
  // With e = e^-|x| <= 1, sigmoid is 1 / (1 + e) from zero upwards and e / (1 + e) below, where it underflows
  // as slowly as e does. NaN passes max as its second argument.
  const F32 e = exp_of(max(b.constant(-104.0F), -abs(x)));
  const Mask negative = x < b.constant(0.0F);
  const F32 sum = one + e;
  const F32 quotient = select(negative, e, one) / sum;
  // What `sum` lost in rounding, exactly, is put back: 1 / (sum + lost) = 1/sum - lost/sum^2, and 1/sum is the
  // quotient, or what it lacks to 1.
  const F32 lost = e - (sum - one);
  const F32 reciprocal = select(negative, one - quotient, quotient);
  return b.finish(fma(-(quotient * lost), reciprocal, quotient));
}

}  // namespace axrun::ir::lane
