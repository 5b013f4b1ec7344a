// Softmax and its logarithm, layer, instance, group and batch normalization, float32.
#include <algorithm>
#include <cmath>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

bool f32_in_and_out(const StepContext& context) {
  return !context.fused() && context.has_input(0) && context.inputs[0].type == ir::ElementType::f32 &&
         context.has_output(0) && context.inputs[0].count() > 0;
}

bool f32_or_absent(const StepContext& context, size_t k, int64_t count) {
  return !context.has_input(k) ||
         (context.inputs[k].type == ir::ElementType::f32 && context.inputs[k].count() == count);
}

/// Where the row of a softmax begins; of old versions it goes on to the end.
struct SoftmaxAxis {
  size_t at = 0;
  bool flattens = false;

  template <typename Dims>
  AxisView view_of(const Dims& shape) const {
    AxisView view;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d < at) {
        view.outer *= shape[d];
      } else if (d == at || flattens) {
        view.extent *= shape[d];
      } else {
        view.inner *= shape[d];
      }
    }
    return view;
  }
};

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(SoftmaxAxis axis, AxisView view, bool logarithm)
      : axis_(axis), view_(view), logarithm_(logarithm) {}
  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    if (logarithm_) {
      log_softmax(view_, x, y, call.pool);
    } else {
      softmax(view_, x, y, call.pool);
    }
  }
  std::string describe() const override { return logarithm_ ? "log softmax" : "softmax"; }
  std::vector<int> in_place() const override { return {0}; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents shape = ports.input(0);
    if (shape.count() == 0) return nullptr;
    return make_in_block<SoftmaxKernel>(axis_, axis_.view_of(shape), logarithm_);
  }

 private:
  SoftmaxAxis axis_;
  AxisView view_;
  bool logarithm_;
};

std::unique_ptr<Kernel> make_softmax(const StepContext& context, bool logarithm) {
  if (!f32_in_and_out(context)) return nullptr;
  const ir::Shape& shape = context.inputs[0].shape;
  SoftmaxAxis row;
  row.flattens = context.node.version < 13;
  int64_t axis = context.integer("axis", row.flattens ? 1 : -1);
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  row.at = static_cast<size_t>(axis);
  return std::make_unique<SoftmaxKernel>(row, row.view_of(shape), logarithm);
}
std::unique_ptr<Kernel> make_plain_softmax(const StepContext& context) {
  return make_softmax(context, false);
}
std::unique_ptr<Kernel> make_log_softmax(const StepContext& context) { return make_softmax(context, true); }

class LayerNormKernel final : public Kernel {
 public:
  LayerNormKernel(size_t axis, int64_t rows, int64_t columns, float epsilon, bool subtract_mean)
      : axis_(axis), rows_(rows), columns_(columns), epsilon_(epsilon), subtract_mean_(subtract_mean) {}
  void run(const KernelCall& call) const override {
    LayerNormArguments arguments;
    arguments.rows = rows_;
    arguments.columns = columns_;
    arguments.x = static_cast<const float*>(call.inputs[0]);
    arguments.y = static_cast<float*>(call.outputs[0]);
    arguments.scale = static_cast<const float*>(call.inputs[1]);
    arguments.bias = has_bias ? static_cast<const float*>(call.inputs[2]) : nullptr;
    arguments.epsilon = epsilon_;
    if (subtract_mean_) {
      if (wants_mean) arguments.mean = static_cast<float*>(call.outputs[1]);
      if (wants_deviation) arguments.inverse_deviation = static_cast<float*>(call.outputs[2]);
      layer_norm(arguments, call.pool);
    } else {
      rms_norm(arguments, call.pool);
    }
  }
  std::string describe() const override { return subtract_mean_ ? "layer norm" : "rms norm"; }
  std::vector<int> in_place() const override { return {0}; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents shape = ports.input(0);
    // Scale and bias are as long as a row.
    if (shape.count() == 0 || shape.count(axis_, shape.size()) != columns_) return nullptr;
    auto other = make_in_block<LayerNormKernel>(*this);
    other->rows_ = shape.count(0, axis_);
    return other;
  }
  bool has_bias = false, wants_mean = false, wants_deviation = false;

 private:
  size_t axis_;
  int64_t rows_, columns_;
  float epsilon_;
  bool subtract_mean_;
};

std::unique_ptr<Kernel> make_layer_like(const StepContext& context, bool subtract_mean) {
  if (!f32_in_and_out(context) || !context.has_input(1)) return nullptr;
  const ir::Shape& shape = context.inputs[0].shape;
  int64_t axis = context.integer("axis", -1);
  if (axis < 0) axis += static_cast<int64_t>(shape.size());
  int64_t rows = 1, columns = 1;
  for (size_t d = 0; d < shape.size(); ++d) (static_cast<int64_t>(d) < axis ? rows : columns) *= shape[d];
  if (!f32_or_absent(context, 1, columns) || !f32_or_absent(context, 2, columns)) return nullptr;
  for (size_t k = 1; k < context.outputs.size(); ++k) {
    if (context.has_output(k) && (!subtract_mean || context.outputs[k].type != ir::ElementType::f32))
      return nullptr;
  }
  auto kernel =
      std::make_unique<LayerNormKernel>(static_cast<size_t>(axis), rows, columns,
                                        static_cast<float>(context.real("epsilon", 1e-5)), subtract_mean);
  kernel->has_bias = context.has_input(2);
  kernel->wants_mean = context.has_output(1);
  kernel->wants_deviation = context.has_output(2);
  return kernel;
}
std::unique_ptr<Kernel> make_layer_norm(const StepContext& context) { return make_layer_like(context, true); }
std::unique_ptr<Kernel> make_rms_norm(const StepContext& context) { return make_layer_like(context, false); }

/// Of [N, C, ...]: elements of a channel.
template <typename Dims>
int64_t plane_of(const Dims& shape) {
  int64_t plane = 1;
  for (size_t d = 2; d < shape.size(); ++d) plane *= shape[d];
  return plane;
}

class InstanceNormKernel final : public Kernel {
 public:
  template <typename Dims>
  InstanceNormKernel(const Dims& shape, float epsilon)
      : batch_(shape[0]), channels_(shape[1]), plane_(plane_of(shape)), epsilon_(epsilon) {}
  void run(const KernelCall& call) const override {
    instance_norm(batch_, channels_, plane_, static_cast<const float*>(call.inputs[0]),
                  static_cast<float*>(call.outputs[0]), static_cast<const float*>(call.inputs[1]),
                  static_cast<const float*>(call.inputs[2]), epsilon_, call.pool);
  }
  std::string describe() const override { return "instance norm"; }
  std::vector<int> in_place() const override { return {0}; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents shape = ports.input(0);
    if (shape.count() == 0 || shape[1] != channels_) return nullptr;
    return make_in_block<InstanceNormKernel>(shape, epsilon_);
  }

 private:
  int64_t batch_, channels_, plane_;
  float epsilon_;
};

std::unique_ptr<Kernel> make_instance_norm(const StepContext& context) {
  if (!f32_in_and_out(context) || context.inputs[0].rank() < 2 || context.node.version < 6) return nullptr;
  const int64_t channels = context.inputs[0].shape[1];
  if (!context.has_input(1) || !context.has_input(2) || !f32_or_absent(context, 1, channels) ||
      !f32_or_absent(context, 2, channels)) {
    return nullptr;
  }
  return std::make_unique<InstanceNormKernel>(context.inputs[0].shape,
                                              static_cast<float>(context.real("epsilon", 1e-5)));
}

/// Scale and bias are per group in version 18, per channel since 21.
class GroupNormKernel final : public Kernel {
 public:
  template <typename Dims>
  GroupNormKernel(const Dims& shape, int64_t groups, bool per_group, float epsilon)
      : batch_(shape[0]),
        groups_(groups),
        channels_(shape[1] / groups),
        plane_(plane_of(shape)),
        per_group_(per_group),
        epsilon_(epsilon) {}
  void run(const KernelCall& call) const override {
    const auto* scale = static_cast<const float*>(call.inputs[1]);
    const auto* bias = static_cast<const float*>(call.inputs[2]);
    auto* y = static_cast<float*>(call.outputs[0]);
    instance_norm(batch_, groups_, channels_ * plane_, static_cast<const float*>(call.inputs[0]), y,
                  per_group_ ? scale : nullptr, per_group_ ? bias : nullptr, epsilon_, call.pool);
    if (per_group_) return;
    channel_affine(batch_, groups_ * channels_, plane_, y, scale, bias, Activation::none, 0, 0, y, call.pool);
  }
  std::string describe() const override { return "group norm"; }
  std::vector<int> in_place() const override { return {0}; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents shape = ports.input(0);
    if (shape.count() == 0 || shape[1] != groups_ * channels_) return nullptr;
    return make_in_block<GroupNormKernel>(shape, groups_, per_group_, epsilon_);
  }

 private:
  int64_t batch_, groups_, channels_, plane_;
  bool per_group_;
  float epsilon_;
};

std::unique_ptr<Kernel> make_group_norm(const StepContext& context) {
  if (!f32_in_and_out(context) || !context.has_input(1) || !context.has_input(2)) return nullptr;
  const ir::Shape& shape = context.inputs[0].shape;
  const int64_t groups = context.integer("num_groups", 1);
  const bool per_group = context.node.version < 21;
  const int64_t parameters = per_group ? groups : shape[1];
  if (!f32_or_absent(context, 1, parameters) || !f32_or_absent(context, 2, parameters)) return nullptr;
  return std::make_unique<GroupNormKernel>(shape, groups, per_group,
                                           static_cast<float>(context.real("epsilon", 1e-5)));
}

/// Batch normalization with constant parameters: an affine map per channel.
class BatchNormKernel final : public Kernel {
 public:
  /// Per channel.
  struct Parameters {
    std::vector<float> scale, bias;
  };
  template <typename Dims>
  BatchNormKernel(const Dims& shape, std::shared_ptr<const Parameters> parameters)
      : outer_(shape[0]), channels_(shape[1]), inner_(plane_of(shape)), parameters_(std::move(parameters)) {}
  void run(const KernelCall& call) const override {
    channel_affine(outer_, channels_, inner_, static_cast<const float*>(call.inputs[0]),
                   parameters_->scale.data(), parameters_->bias.data(), Activation::none, 0, 0,
                   static_cast<float*>(call.outputs[0]), call.pool);
  }
  std::string describe() const override { return "channel affine"; }
  std::vector<int> in_place() const override { return {0}; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents shape = ports.input(0);
    if (shape.count() == 0 || shape[1] != channels_) return nullptr;
    return make_in_block<BatchNormKernel>(shape, parameters_);
  }

 private:
  int64_t outer_, channels_, inner_;
  std::shared_ptr<const Parameters> parameters_;
};

std::unique_ptr<Kernel> make_batch_norm(const StepContext& context) {
  if (!f32_in_and_out(context) || context.inputs[0].rank() < 2 || context.node.version < 7) return nullptr;
  if (context.integer("training_mode", 0) != 0 || context.has_attribute("spatial")) return nullptr;
  const int64_t channels = context.inputs[0].shape[1];
  const float* parameters[4];
  for (size_t k = 1; k < 5; ++k) {
    if (!context.has_input(k) || context.inputs[k].constant == nullptr ||
        !f32_or_absent(context, k, channels))
      return nullptr;
    parameters[k - 1] = context.inputs[k].constant->as<float>();
  }
  for (size_t k = 1; k < context.outputs.size(); ++k) {
    if (context.has_output(k)) return nullptr;
  }
  const double epsilon = static_cast<float>(context.real("epsilon", 1e-5));
  auto affine = std::make_shared<BatchNormKernel::Parameters>();
  for (int64_t c = 0; c < channels; ++c) {
    const double factor = parameters[0][c] / std::sqrt(parameters[3][c] + epsilon);
    affine->scale.push_back(static_cast<float>(factor));
    affine->bias.push_back(static_cast<float>(parameters[1][c] - factor * parameters[2][c]));
  }
  return std::make_unique<BatchNormKernel>(context.inputs[0].shape, std::move(affine));
}

/// ImageScaler, which old converters wrote: x * scale + bias[channel].
std::unique_ptr<Kernel> make_image_scaler(const StepContext& context) {
  if (!f32_in_and_out(context) || context.inputs[0].rank() < 2) return nullptr;
  const auto given = context.node.attributes.find("bias");
  const auto channels = static_cast<size_t>(context.inputs[0].shape[1]);
  if (given == context.node.attributes.end() || given->second.reals.size() != channels) return nullptr;
  auto affine = std::make_shared<BatchNormKernel::Parameters>();
  affine->scale.assign(channels, static_cast<float>(context.real("scale", 1.0)));
  affine->bias.assign(given->second.reals.begin(), given->second.reals.end());
  return std::make_unique<BatchNormKernel>(context.inputs[0].shape, std::move(affine));
}

}  // namespace

void normalization_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "Softmax", make_plain_softmax});
  table.push_back({"", "LogSoftmax", make_log_softmax});
  table.push_back({"", "LayerNormalization", make_layer_norm});
  table.push_back({"", "RMSNormalization", make_rms_norm});
  table.push_back({"", "SimplifiedLayerNormalization", make_rms_norm});
  table.push_back({"", "InstanceNormalization", make_instance_norm});
  table.push_back({"", "GroupNormalization", make_group_norm});
  table.push_back({"", "BatchNormalization", make_batch_norm});
  table.push_back({"", "ImageScaler", make_image_scaler});
}

}  // namespace axrun::runtime
