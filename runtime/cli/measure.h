#pragma once

#include <chrono>
#include <vector>

#include "runtime/cli/optimize.h"
#include "runtime/cli/options.h"
#include "runtime/cli/progress.h"
#include "runtime/cli/streams.h"
#include "runtime/session.h"

namespace axrun::cli {

using Clock = std::chrono::steady_clock;

inline double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Measurement {
  double plan_ms = 0;            ///< building the plan for these shapes
  double first_ms = 0;           ///< from having the inputs to the first answer, the plan included
  bool bound = false;            ///< timed runs wrote into fixed buffers
  int64_t warmup_runs = 0;       ///< before the timed ones, the first run included
  Optimisation optimisation;     ///< between the warm-up and the timed runs
  std::vector<double> times_ms;  ///< of each timed run
  Spread spread;                 ///< how the timed runs used the processors
  double runs_per_second = 0;    ///< over all streams
  std::string differs;           ///< a stream whose results were not the first one's
  std::vector<runtime::RuntimeValue> outputs;  ///< of the last run
};

/// First run, warm-up, the optimiser's budget, timed runs: one after another, or in several streams at once.
/// Timed is one call of Session::run_into on bound inputs and outputs, or of Session::run for a model with
/// values that are no plain tensors. Between runs nothing happens but a look at the clock, and now and then a
/// line of progress.
Measurement measure(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                    const Options& options, Progress& progress);

}  // namespace axrun::cli
