#pragma once

#include <cstdint>
#include <optional>

#include "search/piece.h"
#include "search/product_form.h"
#include "search/register_tile.h"

namespace axrun::search {

/// Every decision about a product; the writer only reads it.
struct ContractionPlan {
  ProductForm form;  ///< as it is computed: given, or turned
  RegisterTile tile;
  bool left_packed = false;  ///< at the beginning of the program, by tiles of rows

  /// How the right side is read in the innermost loop. Packed: as panels [tiles of columns, k, tile.columns].
  enum class Right : uint8_t {
    packed_once,    ///< from panels made at the beginning of the program, or by whoever calls pack_right
    packed_inside,  ///< from a panel made before the rows of a tile of columns
    direct,         ///< where it lies
  };
  Right right = Right::direct;
  /// What panels hold: the right side, or where that is a narrower number made f32, the narrower one, which
  /// is widened wherever it is read; none: the right side.
  ir::ExprId narrow = ir::none;
  /// Panels are made of squares of so many rows and columns, transposed in registers, where the right side is
  /// contiguous along k. 0: row by row.
  int64_t square = 0;

  /// Panels that are packed inside have no elements of their own for steps along the last axis of the sum:
  /// each step reads so many columns further on than the one before. 0: they have.
  int64_t shift = 0;
  bool guarded = false;  ///< panels are packed beyond the last column: see columns_are_guarded

  /// Which loop is spread over workers.
  enum class Spread : uint8_t { none, outer, rows, columns };
  Spread spread = Spread::none;

  int64_t row_block = 0;     ///< tiles of rows that stay in the cache while the columns pass; 0: all
  int64_t column_group = 1;  ///< tiles of columns for one worker at a time (Spread::columns)
  /// Steps along k at a time: so much of a panel stays in the cache while the rows pass. Sums are collected
  /// in the cache then. 0: all.
  int64_t depth_block = 0;
  /// Tiles are copied to the cache before the epilogue reads them, which is long (is_long); or results lie
  /// across.
  bool copied = false;
  int64_t unroll = 4;  ///< of the innermost loop over k
  /// The unrolled steps along k are not neighbours, but each begins a part of a panel of its own: as many
  /// sequences are read side by side.
  bool side_by_side = false;
};

ContractionPlan plan_contraction(const PieceContext& context, const ProductForm& given);
/// The same with a right side that comes from far read side by side instead of in one sequence, or the other
/// way round. Nothing where it is near, or read more than once.
std::optional<ContractionPlan> read_otherwise(const PieceContext& context, const ContractionPlan& plan);
/// The same from the side that it is given from.
ContractionPlan plan_from_this_side(const PieceContext& context, const ProductForm& form);

}  // namespace axrun::search
