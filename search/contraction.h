#pragma once

#include "search/contraction_plan.h"
#include "search/piece.h"

namespace axrun::search {

/// Writes a product as it was planned: panels of b, tiles of c accumulated in registers, the epilogue while
/// they are stored.
void write_contraction(PieceContext& context, const ContractionPlan& plan);

}  // namespace axrun::search
