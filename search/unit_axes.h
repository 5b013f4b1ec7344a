#pragma once

#include "ir/program.h"

namespace axrun::search {

/// The expression without dims and axes of extent 1, those of operands and outputs included: their memory is
/// the same. A reduction over such axes only becomes a map. For programs of maps and simple reductions.
ir::Program drop_unit_axes(const ir::Program& program);

}  // namespace axrun::search
