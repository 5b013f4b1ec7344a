#pragma once

#include <optional>
#include <vector>

#include "search/gathered_form.h"
#include "search/piece.h"
#include "search/windows_form.h"

namespace axrun::search {

/// Windows whose result is the right side of a sum of products, line by line: a depthwise convolution (or a
/// pool) and a product over its channels. Both pass over the same lines, so that it can be computed for a few
/// lines at a time, each element of the windows once.
struct ChainedWindowsForm {
  WindowsForm windows;
  GatheredForm sum;
  ir::TensorId between = ir::none;
  /// The axis of the sum (then its reduce axes) that each dimension of what lies between is.
  std::vector<int> sum_axes;
  /// And the axis of the windows; none: it has one element.
  std::vector<int> window_axes;
};

/// Of consecutive stages that are windows and a sum of products, where they have it. `both`: without what
/// follows the sum.
std::optional<ChainedWindowsForm> find_chained_windows(const ir::Program& program, const WindowsForm& windows,
                                                       const GatheredForm& sum, Range both);

}  // namespace axrun::search
