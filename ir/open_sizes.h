#pragma once

#include "ir/graph.h"

namespace axrun::ir {

/// Whether the definition of the node's operator asks the sizes at hand (SizesAtHand) for whatever it takes
/// for granted of named sizes: then its program holds for all sizes for which the guards do. Others are given
/// the sizes as numbers.
bool keeps_sizes_open(const Node& node);

}  // namespace axrun::ir
