#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace axrun::search {

/// How a map reads what a reduction before it gives: element by element, at a permutation of its own axes
/// (and at 0 along axes of extent 1), so that each element can be finished where it has been reduced.
struct MatchedEpilogue {
  std::vector<int> axes;  ///< the reduction's axis that each axis of the map is; -1 for axes of extent 1
  std::string reason;     ///< why it does not; empty where it does
};
MatchedEpilogue match_epilogue(const ir::Program& program, const ir::Stage& reduction, const ir::Stage& map);

/// Whether a map takes so many operations that tiles are copied to the cache for it: there registers are free
/// for its constants, and for several vectors at a time.
bool is_long(const ir::Program& program, const ir::Stage& map);

/// The same by dimensions of the reduction's result instead of its axes: several axes may be one dimension.
MatchedEpilogue match_dimensions(const ir::Program& program, const ir::Stage& reduction,
                                 const ir::Stage& map);

/// The axes of a reduction longer than 1, in the order of the memory of what `epilogue` gives (null: of what
/// the reduction gives). epilogue_axes: as matched.
std::vector<int> axes_in_memory_order(const ir::Stage& reduction, const ir::Stage* epilogue,
                                      const std::vector<int>& epilogue_axes);

}  // namespace axrun::search
