#pragma once

#include <cstddef>

namespace axrun::perf {

/// What is as busy as an optimiser and does nothing: no locks, no system calls but for the clock, of memory
/// no more than it is told to go around in.
struct Neutral {
  double share = 1;            ///< of a processor that it uses, where it is granted
  double assured_seconds = 0;  ///< so long it has the standing of an optimiser at its start; then it is idle
  size_t memory_bytes = 0;     ///< that it writes to while it works, line after line
};

/// Until standard input ends.
void be_busy(const Neutral& neutral);

}  // namespace axrun::perf
