#pragma once

#include <functional>

#include "search/piece.h"

namespace axrun::search {

/// Costly parts of a map that are the same in every run and vary along one axis at most are computed at the
/// beginning of the program; from now on, until StageValues::clear_values, the map reads them. point: where
/// the map is computed, each time that it is.
void prepare_parts(PieceContext& context, const ir::Stage& map,
                   const std::function<const ir::Dims&()>& point);

}  // namespace axrun::search
