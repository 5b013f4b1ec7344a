#pragma once

#include <functional>
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
  double start_ms = 0;    ///< median of the first runs
  double end_ms = 0;      ///< median of the last runs
  /// Latencies of runs meanwhile, at most a few thousand of them, by the optimiser's clock.
  struct Sample {
    double seconds = 0, ms = 0;
  };
  std::vector<Sample> samples;
  runtime::OptimizerStatus status;
  std::vector<EvidenceShare> evidence;  ///< of the time of a run, afterwards
};

/// Lets the session's optimiser work until it has nothing left to do, for up to so many seconds, and freezes
/// what it has come to. Meanwhile the model runs on these inputs now and then: `timed_ms` runs it once. In
/// between the processor is the optimiser's, whose threads get no time while others want it.
Optimisation optimise(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                      double seconds, const std::function<double()>& timed_ms, Progress& progress);

}  // namespace axrun::cli
