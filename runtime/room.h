#pragma once

#include <string>

#include "ir/tensor.h"

namespace axrun::runtime {

/// Throws Error(user) where the input `name` of this shape would not fit into the machine's memory. To be
/// asked before the allocation: the system grants pages that it does not have, and kills who touches them.
void require_room(const std::string& name, ir::ElementType type, const ir::Shape& shape);

}  // namespace axrun::runtime
