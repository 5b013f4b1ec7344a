#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/cli/evidence.h"
#include "runtime/cli/progress.h"
#include "runtime/session.h"

namespace axrun::cli {

/// What came of --budget.
struct Optimisation {
  bool asked = false;
  double seconds = 0;     ///< that it took
  bool finished = false;  ///< before the time was over: nothing is left to try
  int64_t runs = 0;       ///< meanwhile
  /// Of a run among others, back to back, as measure() times them: before the first swap, and afterwards.
  double start_ms = 0, end_ms = 0;
  /// The same meanwhile, at most a few thousand times, by the optimiser's clock.
  struct Sample {
    double seconds = 0, ms = 0;
  };
  std::vector<Sample> samples;
  runtime::OptimizerStatus status;
  std::vector<EvidenceShare> evidence;  ///< of the time of a run, afterwards
};

/// Runs back to back, and what one of them takes: the median of the later half, since the first ones wake
/// caches and the processor's clock after a rest.
struct Settled {
  double ms = 0, total_ms = 0;
  int64_t runs = 0;
};
/// Runs `timed_ms` a few times, for at least 2 ms and until 20 ms are over.
Settled settled(const std::function<double()>& timed_ms);

/// "59.5 us a run at the start, 36.0 us now: 1.65 x", in one unit.
std::string gain_text(const Optimisation& optimisation);

/// Lets the session's optimiser work until it has nothing left to do, for up to so many seconds, and freezes
/// what it has come to. Meanwhile the model runs on these inputs now and then, a few times in a row:
/// `timed_ms` runs it once. In between the processor is the optimiser's, whose threads get no time while
/// others want it.
Optimisation optimise(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                      double seconds, const std::function<double()>& timed_ms, Progress& progress);

}  // namespace axrun::cli
