#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace axrun::tests {

/// How windows move over height and width.
struct WindowSteps {
  std::vector<int64_t> kernel = {3, 3}, strides = {1, 1}, pads = {1, 1}, dilations = {1, 1};

  /// Of the result along height (0) or width (1).
  int64_t length(size_t d, int64_t extent) const;
};

/// Stages over x[batch..., channels, height, width], of which chains are made.
class ChannelStages {
 public:
  ChannelStages(ir::Builder& builder, ir::Dims batch) : b_(builder), batch_(std::move(batch)) {}

  /// The batch, then these.
  ir::Dims with(std::initializer_list<ir::Dim> rest) const;
  /// [batch..., filters, height, width]: sums over the channels of x * weights[filter, channel].
  ir::TensorRef product(const ir::TensorRef& x, const ir::TensorRef& weights, const std::string& name) const;
  /// Windows over each channel of x, each tap multiplied by weights[channel, tap...] where there are any.
  ir::TensorRef windows(const ir::TensorRef& x, const ir::TensorRef& weights, const WindowSteps& steps,
                        ir::Monoid::Kind monoid = ir::Monoid::Kind::sum) const;
  /// min(max(x + bias[channel], 0), 6), or x where there is no bias.
  ir::TensorRef clamped(const ir::TensorRef& x, const ir::TensorRef& bias) const;

 private:
  ir::Builder& b_;
  const ir::Dims batch_;
};

}  // namespace axrun::tests
