// Pooling, float32, one or two spatial dims.
#include <algorithm>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {
namespace {

enum class PoolKind { max, average, average_with_pads, global_max, global_average };

class PoolKernel final : public Kernel {
 public:
  PoolKernel(PoolKind kind, const PoolShape& shape) : kind_(kind), shape_(shape) {}

  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const float*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    const int64_t plane = shape_.in_height * shape_.in_width;
    switch (kind_) {
      case PoolKind::max:
        return max_pool2d(shape_, x, y, call.pool);
      case PoolKind::average:
        return average_pool2d(shape_, false, x, y, call.pool);
      case PoolKind::average_with_pads:
        return average_pool2d(shape_, true, x, y, call.pool);
      case PoolKind::global_max:
        return global_max_pool(shape_.planes, plane, x, y, call.pool);
      case PoolKind::global_average:
        return global_average_pool(shape_.planes, plane, x, y, call.pool);
    }
  }
  std::string describe() const override {
    static constexpr const char* names[] = {"max pool", "average pool", "average pool", "global max",
                                            "global average"};
    return names[static_cast<int>(kind_)];
  }

 private:
  PoolKind kind_;
  PoolShape shape_;
};

bool is_f32(const StepContext& context) {
  return !context.fused() && context.has_input(0) && context.inputs[0].type == ir::ElementType::f32 &&
         context.has_output(0) && context.inputs[0].count() > 0;
}

std::unique_ptr<Kernel> make_window(const StepContext& context, PoolKind kind) {
  if (!is_f32(context) || context.has_output(1)) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  const ir::Shape& y = context.outputs[0].shape;
  if (x.size() != 3 && x.size() != 4) return nullptr;
  const size_t rank = x.size() - 2;
  const auto list = [&](const char* name, int64_t otherwise) {
    std::vector<int64_t> values = context.integers(name);
    if (values.empty()) values.assign(rank, otherwise);
    return values;
  };
  const std::vector<int64_t> kernel = list("kernel_shape", 1);
  const std::vector<int64_t> strides = list("strides", 1);
  const std::vector<int64_t> dilations = list("dilations", 1);
  std::vector<int64_t> pads = context.integers("pads");
  if (pads.empty()) pads.assign(2 * rank, 0);
  const std::string mode = context.string("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    for (size_t d = 0; d < rank; ++d) {
      const int64_t window = dilations[d] * (kernel[d] - 1) + 1;
      const int64_t total = std::max<int64_t>(0, (y[d + 2] - 1) * strides[d] + window - x[d + 2]);
      pads[d] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      pads[d + rank] = total - pads[d];
    }
  } else if (mode == "VALID") {
    pads.assign(2 * rank, 0);
  }
  PoolShape shape;
  shape.planes = x[0] * x[1];
  const size_t last = rank - 1;
  shape.in_width = x[last + 2];
  shape.out_width = y[last + 2];
  shape.kernel_width = kernel[last];
  shape.stride_width = strides[last];
  shape.dilation_width = dilations[last];
  shape.pad_left = pads[last];
  shape.padded_end_width = shape.in_width + pads[last + rank];
  shape.padded_end_height = 1;
  if (rank == 2) {
    shape.in_height = x[2];
    shape.out_height = y[2];
    shape.kernel_height = kernel[0];
    shape.stride_height = strides[0];
    shape.dilation_height = dilations[0];
    shape.pad_top = pads[0];
    shape.padded_end_height = shape.in_height + pads[rank];
  }
  return std::make_unique<PoolKernel>(kind, shape);
}

std::unique_ptr<Kernel> make_max(const StepContext& context) { return make_window(context, PoolKind::max); }
std::unique_ptr<Kernel> make_average(const StepContext& context) {
  const bool with_pads = context.integer("count_include_pad", 0) != 0;
  return make_window(context, with_pads ? PoolKind::average_with_pads : PoolKind::average);
}

std::unique_ptr<Kernel> make_global(const StepContext& context, PoolKind kind) {
  if (!is_f32(context) || context.inputs[0].rank() < 2) return nullptr;
  const ir::Shape& x = context.inputs[0].shape;
  PoolShape shape;
  shape.planes = x[0] * x[1];
  for (size_t d = 2; d < x.size(); ++d) shape.in_width *= x[d];
  return std::make_unique<PoolKernel>(kind, shape);
}
std::unique_ptr<Kernel> make_global_max(const StepContext& context) {
  return make_global(context, PoolKind::global_max);
}
std::unique_ptr<Kernel> make_global_average(const StepContext& context) {
  return make_global(context, PoolKind::global_average);
}

}  // namespace

void pooling_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "MaxPool", make_max});
  table.push_back({"", "AveragePool", make_average});
  table.push_back({"", "GlobalMaxPool", make_global_max});
  table.push_back({"", "GlobalAveragePool", make_global_average});
}

}  // namespace axrun::runtime
