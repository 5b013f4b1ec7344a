#pragma once

#include "search/contraction_plan.h"
#include "search/piece.h"
#include "search/product_form.h"

namespace axrun::search {

/// Writes a product as it was planned: panels of b, tiles of c accumulated in registers, the epilogue while
/// they are stored.
void write_contraction(PieceContext& context, const ProductForm& form, const ContractionPlan& plan);

}  // namespace axrun::search
