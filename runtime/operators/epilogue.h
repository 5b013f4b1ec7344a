#pragma once

#include <functional>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {

/// What follows a contraction inside its kernel, in this order: a factor and a bias per channel, a residual,
/// an activation. Weights stay as they are: folding factors into them is for discovered rules.
struct EpiloguePlan {
  ir::Shape shape;            ///< of the contraction's result
  int channel_axis = 0;       ///< of the result
  bool is_viewed = false;     ///< the shape is one under which an operator has seen the result (follow_view)
  std::vector<float> factor;  ///< per channel; empty: 1
  std::vector<float> bias;    ///< per channel; empty: 0
  ir::ValueId residual = ir::absent;
  Activation activation = Activation::none;
  float alpha = 0, beta = 0;

  int64_t channels() const { return shape[static_cast<size_t>(channel_axis)]; }
};

using PortLookup = std::function<StepPort(ir::ValueId)>;

/// Extends the epilogue by the operator(s) applied to `value` (the result so far): one node, or two that form
/// an activation together (x * sigmoid(x)). False, and nothing changed, when they cannot be part of it.
bool extend_epilogue(EpiloguePlan& plan, const std::vector<const ir::Node*>& nodes, ir::ValueId value,
                     const PortLookup& port);

/// Follows the result through an operator that only renames its dims (Squeeze, Reshape): the epilogue goes on
/// under the new shape. False, and nothing changed, when the channels are no longer a dimension of their own.
bool follow_view(EpiloguePlan& plan, const ir::Program& program);

/// How many nodes, from `position` of the group on, form one extension (see extend_epilogue).
size_t extension_length(const std::vector<const ir::Node*>& group, size_t position);

/// Shape of the first node's own result; the group's result may have it under other dims.
ir::Shape own_result_shape(const StepContext& context);

/// Reads the whole group after its first node; false when some node does not fit.
bool read_epilogue(EpiloguePlan& plan, const StepContext& context);

/// Ends the epilogue with the activation that com.microsoft's fused contractions name (none: ""), with the
/// parameters given, in order; those left out have ONNX's defaults. False when kernels don't have it.
bool name_activation(EpiloguePlan& plan, std::string_view name, const std::vector<double>& parameters);

/// The activation of one node, with constant parameters; Activation::none when it is none of those kernels
/// have.
Activation activation_of(const ir::Node& node, const PortLookup& port, float& alpha, float& beta);

}  // namespace axrun::runtime
