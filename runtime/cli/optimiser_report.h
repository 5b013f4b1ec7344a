#pragma once

#include <nlohmann/json_fwd.hpp>

#include "runtime/cli/optimize.h"

namespace axrun::cli {

/// What the optimiser came to, as --json shows it: every kernel with its proof, its tests and its reasons.
nlohmann::ordered_json optimiser_json(const Optimisation& optimisation);

}  // namespace axrun::cli
