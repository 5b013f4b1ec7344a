// Loops that keep the arithmetic units busy and nothing else: independent multiply-adds in registers.
#pragma once

#include <functional>

#include "runtime/kernels/dispatch.h"

namespace axrun::perf {

/// A few microseconds of work.
struct PeakLoop {
  const char* name;   ///< the instructions used
  double operations;  ///< of one call; a multiply-add is two
  std::function<void()> run;
};

/// Multiply-adds in f32, emitted by jit. The level must be one that this processor runs.
PeakLoop f32_peak(runtime::IsaLevel level);

/// Dot products of 8-bit integers, summed in 32 bits, by the best instructions that this processor has for
/// them; 16-bit ones where it has none.
PeakLoop int8_peak();

}  // namespace axrun::perf
