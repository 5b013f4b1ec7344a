#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/linear.h"
#include "search/piece.h"

namespace axrun::search {

/// The row-major position of what a load reads; nothing where it is not linear.
std::optional<ir::Linear> position_of(const ir::Program& program, const ir::Expr& load);

/// A map whose operands are contiguous along another axis than its result. Values that are worked out along
/// that axis, the rows, pass through tiles in registers that are read along the result's last axis.
struct Transposition {
  int across = ir::none;         ///< axis along which the rows are contiguous; none: nothing is transposed
  std::vector<ir::ExprId> rows;  ///< expressions of the body, as large as they can be
};

/// In a stage whose result is contiguous along `along`: among the axes along which operands are contiguous,
/// the one of most loads that are read with a stride along `along`.
Transposition find_transposition(const ir::Program& program, const ir::Stage& stage, int along);

/// Whether expressions read operands only where neighbours along `across` are neighbours in memory, or the
/// same element, and some of them with a stride along `along`. Axes are numbered on through the reduce axes.
bool is_read_across(const ir::Program& program, const std::vector<ir::ExprId>& ids, int along, int across);

/// The part of a tile that exists, of at most rows x columns elements. A loop of one element would not be a
/// vector: the extents must not be the literal 1.
struct TransposedTile {
  int64_t rows = 0, columns = 0;
  ir::Dim rows_here, columns_here;
};

/// Writes tiles in registers: `row` gives the n-th of the values, of types as listed, of a row at a column,
/// then `column` is written for neighbouring rows of each column, where `values` says where these values are
/// now.
void write_transposed(LoopWriter& writer, const TransposedTile& tile, const std::string& name,
                      const std::vector<ir::ElementType>& types,
                      const std::function<int(size_t n, const ir::Dim& row, const ir::Dim& column)>& row,
                      const std::function<void(const ir::Dim& row, const ir::Dim& column,
                                               const std::vector<ir::loop::Access>& values)>& column);

}  // namespace axrun::search
