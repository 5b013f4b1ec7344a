#pragma once

#include "search/gathered_form.h"
#include "search/gathered_plan.h"
#include "search/piece.h"

namespace axrun::search {

/// Writes a gathered product as it was planned: a few lines of columns are gathered into a matrix [k,
/// columns], tiles of the result accumulate in registers, the epilogue is applied while they are stored.
void write_gathered(PieceContext& context, const GatheredForm& form, const GatheredPlan& plan);

}  // namespace axrun::search
