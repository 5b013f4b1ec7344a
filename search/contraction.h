#pragma once

#include "search/contraction_plan.h"
#include "search/piece.h"
#include "search/right_panels.h"

namespace axrun::search {

/// Writes a product as it was planned: panels of b, tiles of c accumulated in registers, the epilogue while
/// they are stored.
/// packed: what pack_right has made; otherwise panels are made where the plan says.
/// add_to: a buffer [row, column] of the part of the rows that is decided, to whose elements the sums are
/// added instead of being stored; then the plan has no epilogue. The last axis along the sum may be decided
/// in part.
void write_contraction(PieceContext& context, const ContractionPlan& plan, const PackedRight& packed = {},
                       int add_to = ir::none);

/// Writes the panels of b, which the plan has packed once, for those parts of axes that are decided at this
/// place.
PackedRight pack_right(PieceContext& context, const ContractionPlan& plan);

}  // namespace axrun::search
