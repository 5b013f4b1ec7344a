#pragma once

namespace axrun::perf {

/// What is as busy as an optimiser and does nothing: no memory, no locks, no system calls but for the clock.
struct Neutral {
  double share = 1;            ///< of a processor that it uses, where it is granted
  double assured_seconds = 0;  ///< so long it has the standing of an optimiser at its start; then it is idle
};

/// Until standard input ends.
void be_busy(const Neutral& neutral);

}  // namespace axrun::perf
