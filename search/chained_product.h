#pragma once

#include "search/chained_product_form.h"
#include "search/contraction_plan.h"
#include "search/piece.h"
#include "search/windows_plan.h"

namespace axrun::search {

/// Every decision about a product and the windows over it; the writer only reads it.
struct ChainedProductPlan {
  ContractionPlan product;
  WindowsPlan windows;
  /// Channels at a time: what the product gives of them stays in the cache. A multiple of the tiles' rows.
  int64_t block = 1;

  /// Which loop is spread over workers.
  enum class Spread : uint8_t { none, batch, blocks };
  Spread spread = Spread::none;
};
ChainedProductPlan plan_chained_product(const PieceContext& context, const ChainedProductForm& form);

/// Writes, block by block of channels, the product and the windows over it.
void write_chained_product(PieceContext& context, const ChainedProductForm& form,
                           const ChainedProductPlan& plan);

}  // namespace axrun::search
