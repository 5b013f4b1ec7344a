#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "runtime/form_counts.h"

namespace axrun::cli {

/// How many plans were bound from forms, what the forms hold for, and why there are none.
nlohmann::ordered_json forms_json(const runtime::FormCounts& counts);
/// The same in lines; empty for a model without open sizes.
std::string forms_text(const runtime::FormCounts& counts, bool details);

}  // namespace axrun::cli
