#pragma once

#include <vector>

#include "search/lowering.h"
#include "search/register_tile.h"
#include "search/schedules/decision.h"

namespace axrun::search {

/// A schedule of a product that is known: no search for it.
struct GivenSchedule {
  RegisterTile tile;
  std::vector<schedules::Decision> decisions;
};

/// As lower(), with the product of most work written so. The decisions must be ones that can follow each
/// other: what a search gives, or what it might.
Lowered lower_scheduled(const ir::Program& expression, const Sizes& sizes, const std::vector<bool>& constant,
                        const jit::Target& target, const GivenSchedule& schedule);

}  // namespace axrun::search
