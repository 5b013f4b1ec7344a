#pragma once

#include "search/piece.h"
#include "search/product_form.h"

namespace axrun::search {

/// A product of constants and few columns, seen from the other side: where its columns fill vectors badly and its
/// rows don't, rows become columns (`ProductForm::across`). A convolution of 3x3 positions computes channels next
/// to each other, not positions.
ProductForm turned(const PieceContext& context, const ProductForm& form);

}  // namespace axrun::search
