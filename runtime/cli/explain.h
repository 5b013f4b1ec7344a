#pragma once

#include "runtime/cli/measure.h"
#include "runtime/cli/options.h"

namespace axrun::cli {

class Watchdog;

/// `axrun explain MODEL [NODE ...]`: runs and optimises the model and reports why its kernels are what they
/// are. Returns exit_ok; throws Error.
int explain_model(const Options& options, Clock::time_point process_start, Watchdog& watchdog);

}  // namespace axrun::cli
