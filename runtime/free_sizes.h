#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/session.h"

namespace axrun::runtime {

using Sizes = std::map<std::string, int64_t>;

/// Sizes for every named dimension that the inputs leave open: those `given`, and made-up ones. A batch is 1;
/// "past + sequence" is the sum of its parts, and so is a "total" length; anything else is `free_size`, or,
/// when that is 0, 224 for the side of an image, 3 for its channels, and 16.
Sizes choose_free_sizes(const std::vector<Port>& inputs, const Sizes& given, int64_t free_size);

/// The dims under these sizes; sizes that are still unknown, or negative, are refused with Error(user).
ir::Shape shape_under(const Port& port, const Sizes& sizes);

}  // namespace axrun::runtime
