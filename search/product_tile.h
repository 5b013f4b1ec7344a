#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "search/contraction_plan.h"
#include "search/piece.h"

namespace axrun::search {

/// Steps along the last axis of a sum, a few unrolled ones each.
struct DepthPart {
  ir::Dim first;      ///< step
  int64_t steps = 0;  ///< at most, fewer where the axis ends; 0: all that are decided at this place
};

/// A tile of a product in registers, where loops around have placed it: its sums along the depth, and what
/// becomes of them. The loops set what is public.
class ProductTile {
 public:
  /// add_to: see write_contraction.
  ProductTile(PieceContext& context, const ContractionPlan& plan, int add_to = ir::none);

  ir::Dims point;    ///< of the sum: axes, then reduce axes
  ir::Dim row_tile;  ///< tiles before it in the part of the rows that is written
  /// Where tiles are not all as high: the first row of this one in that part, instead of row_tile, and how
  /// many there are from it on.
  std::optional<ir::Dim> first_row, rows_left;
  ir::Dim column_tile;    ///< of the columns
  int64_t width;          ///< columns computed: those of a tile, or fewer in a last one (in_widths)
  int64_t height;         ///< rows computed: those of a tile, or fewer where the last one is by itself
  bool row_tail = false;  ///< there may be fewer rows than that
  bool column_tail;       ///< there may be fewer columns than those of a tile
  DepthPart depth;        ///< over which sum_up sums
  bool right_padded;      ///< columns beyond the last one can be read
  /// How sides are read at `point`: a row, or a lane, of the tile.
  std::function<int(const ir::Dim& row)> left;
  std::function<int(const ir::Dim& lane)> right;

  const ir::Dim& rows() const { return rows_; }
  const ir::Dim& columns() const { return columns_; }
  /// Columns of the tile that exist.
  ir::Dim columns_here() const;
  /// body with the narrowest width that has all columns of column_tile. Where only a run tells how many these
  /// are, each width has a loop of its own, of one iteration or none.
  void in_widths(const std::function<void()>& body);
  /// To a place in the part of the axis that is written.
  void move_to(int axis, const ir::Dim& place);
  /// The product of factors of the sum at `point`.
  int product(const std::vector<ir::ExprId>& factors);

  /// What becomes of the results is prepared, until finished().
  void begin();
  void finished() { values_.clear_values(); }

  /// Makes the tile and sums up.
  void sum_up();
  /// Stores the tile, or adds it to what add_to says.
  void store();
  /// Sums that wait at {before..., row, column} of a buffer: zeros, the tile added to them, and stored.
  void clear(int buffer, const ir::Dims& before);
  void add_to(int buffer, const ir::Dims& before);
  void store_waiting(int buffer, const ir::Dims& before);

 private:
  ir::Dim extent(int axis) const;
  ir::Dim row_here(const ir::Dim& i1) const;
  std::vector<int64_t> last_widths() const;
  ir::Dim first_column() const;
  ir::Dim rows_here() const;
  ir::Dim lanes_computed() const;
  ir::Dim& coordinate(int axis) { return point[static_cast<size_t>(axis)]; }
  void for_tile(const std::function<void(const ir::Dim& i1, const ir::Dim& j1)>& body);
  void along_depth(size_t k);
  void accumulate(const ir::Dim& i1, const ir::Dim& j1);
  void finish_tile(int buffer, const ir::Dims& before, ir::loop::LoopKind rows);
  void finish_across(int buffer, const ir::Dims& before);
  void finish(const ir::loop::Access& element, const ir::Dim& i1, const ir::Dim& j1);

  PieceContext& context_;
  const ProductForm& form_;
  const ir::Stage& sum_;
  const ContractionPlan& plan_;
  LoopWriter& w_;
  StageValues& values_;
  const ir::Dim rows_, columns_;
  ir::Dims map_point_;  ///< of the epilogue, where it is computed
  int add_to_;
  int tile_ = ir::none;
};

}  // namespace axrun::search
