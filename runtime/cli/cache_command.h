#pragma once

#include "runtime/cli/options.h"

namespace axrun::cli {

/// axrun cache: reports on stdout; the exit code. Throws Error(user) for files and folders that cannot be
/// used.
int cache_command(const Options& options);

}  // namespace axrun::cli
