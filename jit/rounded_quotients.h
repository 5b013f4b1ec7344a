#pragma once

#include <cstdint>

namespace axrun::jit {

/// x / divisor without a division: q = x * inverse; q + (x - q * divisor) * inverse, the last two operations
/// of each line rounded once (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000
/// processor", 1990).
float refined_quotient(float x, float divisor, float inverse);

/// Whether round_even(refined_quotient(x, divisor, 1 / divisor)) is round_even(x / divisor) for every x whose
/// quotient is between `least` and `most`: found out at all numbers near the ties, elsewhere both are too
/// close to the true quotient to round differently. divisor: positive; false where it is so small or so large
/// that bits might be lost.
bool rounds_as_quotient(float divisor, int64_t least, int64_t most);

}  // namespace axrun::jit
