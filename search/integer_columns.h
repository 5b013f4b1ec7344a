#pragma once

#include "search/integer_product.h"

namespace axrun::search {

/// Sums of products of small integers in i32, of constant rows by activations whose columns follow one
/// another in memory: convolutions of single elements. Both sides become words, or bytes, that lie next to
/// their neighbours along the sum, so that processors multiply and add these at once; of the columns a panel
/// at a time, as many as a tile has. Every product is exact; sums wrap as i32 does, in any order.
FoundIntegerProduct find_integer_columns(const ir::Program& program, const ir::Stage& sum,
                                         const ir::Stage* epilogue, const std::vector<bool>& constant);

void write_integer_columns(PieceContext& context, const IntegerProductForm& form);

}  // namespace axrun::search
