#pragma once

#include "runtime/cli/options.h"

namespace axrun::cli {

/// axrun rules: lists the identities of the cache, looks for more in models, or proves one again; the exit
/// code. Throws Error(user) where there is no cache, or no such rule.
int rules_command(const Options& options);

}  // namespace axrun::cli
