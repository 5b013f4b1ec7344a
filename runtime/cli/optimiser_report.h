#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/cli/optimize.h"

namespace axrun::cli {

/// What the optimiser came to, as --json shows it: every kernel with its proof, its tests and its reasons.
nlohmann::ordered_json optimiser_json(const Optimisation& optimisation);

/// The same on one line, ended by a newline.
std::string optimiser_line(const Optimisation& optimisation);

}  // namespace axrun::cli
