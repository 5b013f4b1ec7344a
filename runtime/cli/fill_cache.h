#pragma once

#include "runtime/cli/measure.h"
#include "runtime/cli/options.h"

namespace axrun::cli {

class Watchdog;

/// `axrun optimize MODEL`: lets the optimiser work for the budget and keeps what it has found, for other
/// processes and for itself when it is run again. Returns exit_ok, or 128 and the signal where one has ended
/// it early; throws Error, also where nothing, or not everything, can be kept.
int fill_cache(const Options& options, Clock::time_point process_start, Watchdog& watchdog);

}  // namespace axrun::cli
