#pragma once

#include "runtime/cli/measure.h"
#include "runtime/cli/options.h"

namespace axrun::cli {

/// `axrun MODEL`: loads, runs, compares, saves and reports. Returns exit_ok or exit_mismatch; throws Error.
int run_model(const Options& options, Clock::time_point process_start);

}  // namespace axrun::cli
