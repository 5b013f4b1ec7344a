#pragma once

#include "search/rows_form.h"

namespace axrun::search {

/// Every decision about rows; the writer only reads it.
struct RowsPlan {
  /// Lanes run along the last column of each stage, or along the last axis of the rows (when rows lie in
  /// memory side by side).
  bool lanes_along_rows = false;
  int64_t lanes = 16;  ///< extent of vector loops: several registers, so that chains are independent
  /// Neighbours along the last axis of the rows that are computed side by side: while the lanes of one are
  /// folded, the others go on. 1 where lanes run along the rows.
  int64_t rows_at_once = 1;
  int parallel_axis = -1;  ///< of the rows: outermost, spread over workers; -1: none
};

RowsPlan plan_rows(const PieceContext& context, const RowsForm& form);

/// Writes the stages of `form`, each a loop over the columns of a row.
void write_rows(PieceContext& context, const RowsForm& form, const RowsPlan& plan);

}  // namespace axrun::search
