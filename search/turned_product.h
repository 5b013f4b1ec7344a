#pragma once

#include <optional>

#include "search/piece.h"
#include "search/product_form.h"

namespace axrun::search {

/// So many steps a product of constants takes before it is worth it to pack a panel that several tiles of
/// rows read: rows of fewer are read as fast where they lie.
inline constexpr int64_t steps_worth_packing = 1024;

/// A product of constants seen from the other side, rows as columns (`ProductForm::across`): where its
/// columns fill vectors badly and its rows don't, or where its sums are so long that what it takes to turn
/// their results is less than what packing the right side takes. A convolution of 3x3 positions computes
/// channels next to each other, not positions.
ProductForm turned(const PieceContext& context, const ProductForm& form);

/// The side that `turned` does not choose, where there is one.
std::optional<ProductForm> seen_from_other_side(const PieceContext& context, const ProductForm& form);

}  // namespace axrun::search
