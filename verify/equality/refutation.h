#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/program.h"

namespace axrun::verify::equality {

/// Values of integer inputs, by position, at which there is perhaps a difference.
using Witness = std::map<int, std::vector<int64_t>>;

/// Sizes, and an output element, at which the reference interpreter gives different values for two
/// expressions on the same seeded inputs, by more than rounding explains; found by running both, in f64.
/// Nothing where a search of so many seconds finds none. witness: tried first.
std::optional<std::string> executed_difference(const ir::Program& left, const ir::Program& right,
                                               const std::vector<ir::loop::Size>& sizes, double seconds,
                                               const Witness& witness = {});

}  // namespace axrun::verify::equality
