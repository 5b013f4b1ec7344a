// Pooling, float32, one or two spatial dims.
#include "runtime/operators/pooling_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {

const char* name_of(PoolKind kind) {
  static constexpr const char* names[] = {"max pool", "average pool", "average pool", "global max",
                                          "global average"};
  return names[static_cast<int>(kind)];
}

void pool(PoolKind kind, const PoolShape& shape, const float* x, float* y, ThreadPool& threads) {
  const int64_t plane = shape.in_height * shape.in_width;
  switch (kind) {
    case PoolKind::max:
      return max_pool2d(shape, x, y, threads);
    case PoolKind::average:
      return average_pool2d(shape, false, x, y, threads);
    case PoolKind::average_with_pads:
      return average_pool2d(shape, true, x, y, threads);
    case PoolKind::global_max:
      return global_max_pool(shape.planes, plane, x, y, threads);
    case PoolKind::global_average:
      return global_average_pool(shape.planes, plane, x, y, threads);
  }
}

PoolShape pool_shape(int64_t planes, const SlidingWindow& window) {
  PoolShape shape;
  shape.planes = planes;
  shape.padded_end_height = 1;
  const size_t last = window.rank() - 1;
  if (last != 0) {
    set_height(shape, window, last - 1);
    shape.padded_end_height = window.in[last - 1] + window.pads_end[last - 1];
  }
  set_width(shape, window, last);
  shape.padded_end_width = window.in[last] + window.pads_end[last];
  return shape;
}

namespace {

bool is_f32(const StepContext& context) {
  return !context.fused() && context.has_input(0) && context.inputs[0].type == ir::ElementType::f32 &&
         context.has_output(0) && context.inputs[0].count() > 0;
}

class PoolKernel final : public Kernel {
 public:
  template <typename Dims>
  PoolKernel(PoolKind kind, std::shared_ptr<const WindowForm> form, const Dims& x, const Dims& y)
      : kind_(kind), form_(std::move(form)), shape_(pool_shape(x[0] * x[1], form_->at(x, y))) {}

  void run(const KernelCall& call) const override {
    pool(kind_, shape_, static_cast<const float*>(call.inputs[0]), static_cast<float*>(call.outputs[0]),
         call.pool);
  }
  std::string describe() const override { return name_of(kind_); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0), y = ports.output(0);
    if (x.count() == 0) return nullptr;
    return make_in_block<PoolKernel>(kind_, form_, x, y);
  }

 private:
  PoolKind kind_;
  std::shared_ptr<const WindowForm> form_;
  PoolShape shape_;
};

class GlobalPoolKernel final : public Kernel {
 public:
  template <typename Dims>
  GlobalPoolKernel(PoolKind kind, const Dims& x) : kind_(kind) {
    shape_.planes = x[0] * x[1];
    for (size_t d = 2; d < x.size(); ++d) shape_.in_width *= x[d];
  }

  void run(const KernelCall& call) const override {
    pool(kind_, shape_, static_cast<const float*>(call.inputs[0]), static_cast<float*>(call.outputs[0]),
         call.pool);
  }
  std::string describe() const override { return name_of(kind_); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0);
    if (x.count() == 0) return nullptr;
    return make_in_block<GlobalPoolKernel>(kind_, x);
  }

 private:
  PoolKind kind_;
  PoolShape shape_;
};

std::unique_ptr<Kernel> make_window(const StepContext& context, PoolKind kind) {
  if (context.has_output(1)) return nullptr;
  const std::optional<WindowForm> form = pooling_form(context, 1, 2);
  if (!form) return nullptr;
  return std::make_unique<PoolKernel>(kind, std::make_shared<const WindowForm>(*form),
                                      context.inputs[0].shape, context.outputs[0].shape);
}

std::unique_ptr<Kernel> make_max(const StepContext& context) { return make_window(context, PoolKind::max); }
std::unique_ptr<Kernel> make_average(const StepContext& context) {
  const bool with_pads = context.integer("count_include_pad", 0) != 0;
  return make_window(context, with_pads ? PoolKind::average_with_pads : PoolKind::average);
}

std::unique_ptr<Kernel> make_global(const StepContext& context, PoolKind kind) {
  if (!is_f32(context) || context.inputs[0].rank() < 2) return nullptr;
  return std::make_unique<GlobalPoolKernel>(kind, context.inputs[0].shape);
}
std::unique_ptr<Kernel> make_global_max(const StepContext& context) {
  return make_global(context, PoolKind::global_max);
}
std::unique_ptr<Kernel> make_global_average(const StepContext& context) {
  return make_global(context, PoolKind::global_average);
}

}  // namespace

std::optional<WindowForm> pooling_form(const StepContext& context, size_t least_rank, size_t most_rank) {
  if (!is_f32(context)) return std::nullopt;
  const size_t rank = context.inputs[0].shape.size();
  if (rank < 2 + least_rank || rank > 2 + most_rank) return std::nullopt;
  std::vector<int64_t> kernel = context.integers("kernel_shape");
  if (kernel.empty()) kernel.assign(rank - 2, 1);
  return WindowForm(context, kernel);
}

void pooling_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "MaxPool", make_max});
  table.push_back({"", "AveragePool", make_average});
  table.push_back({"", "GlobalMaxPool", make_global_max});
  table.push_back({"", "GlobalAveragePool", make_global_average});
  pooling_volume_factories(table);
  pooling_index_factories(table);
}

}  // namespace axrun::runtime
