#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cli/options.h"
#include "runtime/cli/progress.h"
#include "runtime/session.h"

namespace axrun::cli {

/// Threads of one run and runs side by side that the options come to: in throughput mode as many runs of one
/// thread as there are processors, else one run on all of them.
struct Spread {
  int threads = 0;  ///< of one run; 0: as the session decides
  int streams = 1;
  std::vector<int> processors;  ///< that the streams are bound to, in their order; empty: to none
};

/// Throws Error(user) for what cannot be had together.
Spread spread_of(const Options& options);

/// When timed runs end.
struct Until {
  std::optional<int64_t> runs;  ///< of all streams together; otherwise:
  double seconds = 0;
};

struct StreamRuns {
  std::vector<double> times_ms;                ///< of single runs, of all streams
  double seconds = 0;                          ///< from the common start to the end of the last run
  bool bound = false;                          ///< every stream wrote into fixed buffers of its own
  std::vector<runtime::RuntimeValue> outputs;  ///< of the first stream's last run
  std::string differs;  ///< "stream 2, output 'y': ...": one whose last results were not the first one's
};

/// Runs the model in `spread.streams` threads at once, all on the same inputs. Each runs it once before the
/// clock starts. What a run throws ends all of them and is thrown here.
StreamRuns run_streams(runtime::Session& session, const std::vector<runtime::RuntimeValue>& inputs,
                       const Spread& spread, const Until& until, Progress& progress);

}  // namespace axrun::cli
