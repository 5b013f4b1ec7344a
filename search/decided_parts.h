#pragma once

#include <map>
#include <vector>

#include "ir/program.h"

namespace axrun::search {

/// Points first <= point < end of an axis, and comparisons that have one value there.
struct DecidedPart {
  int64_t first = 0, end = 0;
  std::map<ir::ExprId, bool> known;
};

/// An axis of literal extent, cut where comparisons in `expressions` change that follow from its coordinate
/// and what `point` holds of the other axes (Dims that are not literal are not decided). A single part where
/// there would be more than `most`.
std::vector<DecidedPart> decided_parts(const ir::Program& program, const std::vector<ir::ExprId>& expressions,
                                       ir::Dims point, int axis, int64_t extent, size_t most);

}  // namespace axrun::search
