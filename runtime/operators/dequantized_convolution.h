#pragma once

#include <memory>
#include <vector>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// The kernel of DequantizeLinear (of X and, where they are not part of the group, of what is constant),
/// Conv, and what may follow: Relu or Clip, then QuantizeLinear. Exact sums of bytes, then one factor and one
/// addend for each channel. Null where it does not fit.
std::unique_ptr<Kernel> make_dequantized_convolution(const StepContext& whole);

/// Whether a group looks like one: what can be said of it without shapes and constants.
bool looks_like_dequantized_convolution(const std::vector<const ir::Node*>& nodes);

}  // namespace axrun::runtime
