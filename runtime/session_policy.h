#pragma once

#include <string>

#include "runtime/session.h"

namespace axrun::runtime {

/// Why sessions with these options have no optimiser, as far as options and the environment say. Empty: they
/// have one.
std::string why_no_optimizer(const SessionOptions& options);

/// Why those that have one neither find nor leave anything in a cache. Empty: they do, where there is one.
std::string why_no_cache(const SessionOptions& options);

}  // namespace axrun::runtime
