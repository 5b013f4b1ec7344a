#pragma once

#include <cstdint>

namespace axrun::jit {

/// The reciprocal of a divisor, the nearest number and what is left of it.
struct Reciprocal {
  explicit Reciprocal(float divisor);
  float high, low;
};

/// x / divisor without a division: x * high + x * low, the sum and the first product rounded once
/// (N. Brisebarre, J.-M. Muller, S. K. Raina, "Accelerating correctly rounded floating-point division when
/// the divisor is known in advance", 2004).
float quotient(float x, const Reciprocal& of_divisor);

/// Whether round_even(quotient(x, Reciprocal(divisor))) is round_even(x / divisor) for every x whose
/// quotient is between `least` and `most`: found out at all numbers near the ties, elsewhere both are too
/// close to the true quotient to round differently. divisor: positive; false where it is so small or so large
/// that bits might be lost.
bool rounds_as_quotient(float divisor, int64_t least, int64_t most);

}  // namespace axrun::jit
