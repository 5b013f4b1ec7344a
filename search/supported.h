#pragma once

#include <string>

#include "search/lowering.h"

namespace axrun::search {

/// Why no schedule can be made for an expression, whatever its kind: stages other than maps and simple
/// reductions, types or names that loop programs do not have. Empty: none.
std::string unsupported_because(const ir::Program& program, const Sizes& sizes);

/// The same of a simplified expression: indices that depend on data, or that are not quasi-affine.
std::string unindexable_because(const ir::Program& program);

}  // namespace axrun::search
