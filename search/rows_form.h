#pragma once

#include <string>
#include <vector>

#include "search/piece.h"

namespace axrun::search {

/// Stages that can be computed row by row: reductions over a row, maps of a row, maps of what was reduced. A
/// stage reads from the others what belongs to its own row only. (Softmax: a row is what is normalised.)
struct RowsForm {
  struct Member {
    const ir::Stage* stage = nullptr;
    std::vector<int> rows;     ///< its axis for each axis of the rows
    std::vector<int> columns;  ///< its other axes, reduce axes last
  };
  Range range;
  std::vector<Member> members;
  ir::Dims rows;  ///< extents
};

struct FoundRows {
  bool found = false;
  RowsForm form;
  std::string reason;
};
FoundRows find_rows(const ir::Program& program, Range range);

}  // namespace axrun::search
