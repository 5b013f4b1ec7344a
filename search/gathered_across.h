#pragma once

#include <vector>

#include "search/gathered_form.h"
#include "search/gathered_plan.h"
#include "search/piece.h"

namespace axrun::search {

/// How a gathered product is computed with its rows next to each other: the best plan for every number of
/// vectors of rows in a tile. None where it cannot be. spread: whether it is worth spreading.
std::vector<PlannedGathered> plans_across(const jit::Target& target, const SizeFacts& facts,
                                          const GatheredForm& form, bool spread);

/// Writes it: lines are gathered with what pads them, tiles of places by rows of the sum accumulate in
/// registers, and are turned while they are stored.
void write_gathered_across(PieceContext& context, const GatheredForm& form, const GatheredPlan& plan);

}  // namespace axrun::search
