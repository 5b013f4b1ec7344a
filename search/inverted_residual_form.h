#pragma once

#include <optional>
#include <vector>

#include "search/chained_windows_form.h"
#include "search/product_form.h"
#include "search/window_move.h"

namespace axrun::search {

/// A product over lines, windows that move over what it gives, and a sum of products over what these give: a
/// convolution to single points that makes channels, a depthwise one, and one that makes few channels of
/// them. All pass over the same lines, so that they can be computed for a few of them at a time.
struct InvertedResidualForm {
  ProductForm product;  ///< its column is a place, and its row a channel
  int line = ir::none;  ///< axis of the product; the other outer ones are `batch`
  int64_t width = 1;    ///< of a line
  ChainedWindowsForm windows;
  ir::TensorId between = ir::none;  ///< what the product gives
  WindowMove move;                  ///< of its lines
  /// An axis that the product and the windows have in common.
  struct Shared {
    int product = ir::none, windows = ir::none;
  };
  Shared channel;
  std::vector<Shared> batch;
  std::vector<int> dimensions;  ///< of what lies between: the product's axis of each

  /// Lines of what lies between that `count` lines of windows from `first` on read, those outside too.
  ir::Dim first_line(const ir::Dim& first) const;
  int64_t lines(int64_t count) const;
};

/// Of consecutive stages that are a product, and windows with the sum after them, where they have it. `both`:
/// without what follows the windows.
std::optional<InvertedResidualForm> find_inverted_residual(const ir::Program& program,
                                                           const ProductForm& product,
                                                           const ChainedWindowsForm& windows, Range both);

}  // namespace axrun::search
