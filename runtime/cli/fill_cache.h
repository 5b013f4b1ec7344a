#pragma once

#include "runtime/cli/measure.h"
#include "runtime/cli/options.h"

namespace axrun::cli {

/// `axrun optimize MODEL`: lets the optimiser work for the budget and keeps what it has found, for other
/// processes and for itself when it is run again. Returns exit_ok; throws Error, also where nothing can be
/// kept.
int fill_cache(const Options& options, Clock::time_point process_start);

}  // namespace axrun::cli
