#pragma once

#include <functional>

#include "ir/ops/window.h"

namespace axrun::ir {

/// The iteration space of a grouped convolution. The result [N, M, out...] is written over the axes
/// (n, group, m in group, out...), so that channels are named factors; the sum runs over (c in group, k...).
struct Convolution {
  Window window;
  Dims axes;
  std::vector<std::vector<int>> merge;
  Dims reduced;
  Dims result;
  Dim group_inputs;
  Dim group_outputs;
};

/// For an input [N, C, in...] and a weight [M, C / group, k...]; checks them against each other and against
/// the attributes.
Convolution convolution_of(const OperatorContext& context, const Dims& input, const Dims& weight);

/// One term of a convolution's sum.
struct ConvolutionPoint {
  Indices input;   ///< indices into the input; spatial ones may lie outside
  Indices weight;  ///< indices into the weight
  Scalar channel;  ///< output channel
};
TensorRef convolution_sum(Builder& b, const Convolution& convolution,
                          const std::function<Scalar(const ConvolutionPoint&)>& term);

/// The attribute `group`, at least 1.
int64_t group_count(const OperatorContext& context);
/// channels / groups; refuses a remainder. `what` names the channels: "input", "output".
Dim split_channels(const OperatorContext& context, const Dim& channels, int64_t groups, const char* what);
/// The spatial dims of a weight, which must have the input's rank, agree with kernel_shape and not be empty.
Dims weight_kernel(const OperatorContext& context, const Dims& input, const Dims& weight);

void transposed_convolution_operators(std::vector<OperatorEntry>& table);
void quantized_convolution_operators(std::vector<OperatorEntry>& table);
void deformable_convolution_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
