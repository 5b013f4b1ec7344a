#pragma once

#include <optional>
#include <vector>

#include "jit/target.h"
#include "search/piece.h"
#include "search/product_form.h"
#include "search/windows_form.h"

namespace axrun::search {

/// A product whose result windows are moved over: a convolution to single points that makes channels, and a
/// depthwise one of these. Both pass over the same channels, so that it can be computed for a few of them at
/// a time, each element of the product once.
struct ChainedProductForm {
  ProductForm product;
  WindowsForm windows;
  ir::TensorId between = ir::none;
  /// An axis that both have in common.
  struct Shared {
    int product = ir::none;  ///< axis of the product
    int windows = ir::none;  ///< of the windows
    int dimension = 0;       ///< of what lies between
  };
  Shared channel;  ///< the product's row
  std::vector<Shared> batch;
};

/// Of consecutive stages that are a product and windows, where they have it. both: without what follows the
/// windows.
std::optional<ChainedProductForm> find_chained_product(const ir::Program& program, const jit::Target& target,
                                                       const ProductForm& product, const WindowsForm& windows,
                                                       Range both);

}  // namespace axrun::search
