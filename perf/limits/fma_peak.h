// The rate of the multiply-add units themselves: no program does more arithmetic than this.
#pragma once

namespace axrun::perf {

/// Does `fma_burst_operations` floating-point operations (a multiply-add is two) in registers, on the calling
/// thread, in the widest float32 vectors this processor has. Takes a few microseconds.
void fma_burst();
double fma_burst_operations();

/// "avx512", "avx2" or "sse2" (which multiplies and adds apart).
const char* fma_burst_instructions();

}  // namespace axrun::perf
