#pragma once

#include <string>
#include <vector>

#include "search/attention_form.h"
#include "search/chained_product_form.h"
#include "search/chained_windows_form.h"
#include "search/gathered_form.h"
#include "search/integer_product.h"
#include "search/inverted_residual_form.h"
#include "search/mapped_windows.h"
#include "search/piece.h"
#include "search/pixels_form.h"
#include "search/product_form.h"
#include "search/rows_form.h"
#include "search/windows_form.h"

namespace axrun::search {

/// Consecutive stages and the kind of schedule that they get.
struct Piece {
  enum class Kind : uint8_t {
    windows,
    gathered,
    contraction,
    rows,
    map,
    recurrence,
    attention,
    integer_product,
    gathered_words,
    chained_windows,
    chained_product,
    inverted_residual,
    pixels,
    mapped_windows,
    integer_columns
  };
  Kind kind = Kind::map;
  Range range;
  WindowsForm windows;
  GatheredForm gathered;  ///< of gathered words too
  PixelsForm pixels;
  MappedWindowsForm mapped_windows;
  ProductForm product;
  RowsForm rows;
  AttentionForm attention;
  ChainedWindowsForm chained_windows;
  ChainedProductForm chained_product;
  InvertedResidualForm inverted_residual;
  IntegerProductForm integer_product;  ///< of integer columns too
};
std::string_view name_of(Piece::Kind kind);

/// An expression cut into pieces, as large as they can be; `reason` where a stage fits no kind.
struct Pieces {
  std::vector<Piece> pieces;
  std::string reason;
};
Pieces cut(const ir::Program& program, const SizeFacts& facts, const std::vector<bool>& constant,
           const jit::Target& target);

}  // namespace axrun::search
