// Pooling over three spatial dims, float32: over depths, whole planes at a time, then over planes. A maximum
// is the maximum of maxima; an average is the average of averages, since how many places count along one dim
// does not depend on where a window is along the others.
#include "runtime/operators/pooling_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

class VolumePoolKernel final : public Kernel {
 public:
  template <typename Dims>
  VolumePoolKernel(PoolKind kind, std::shared_ptr<const WindowForm> form, const Dims& x, const Dims& y)
      : kind_(kind), form_(std::move(form)) {
    const SlidingWindow window = form_->at(x, y);
    depths_.planes = x[0] * x[1];
    planes_ = pool_shape(depths_.planes * window.out[0], window);
    set_height(depths_, window, 0);
    depths_.padded_end_height = window.in[0] + window.pads_end[0];
    depths_.in_width = depths_.out_width = depths_.padded_end_width = window.in[1] * window.in[2];
  }

  void run(const KernelCall& call) const override {
    auto* const pooled = static_cast<float*>(call.scratch);
    pool(kind_, depths_, static_cast<const float*>(call.inputs[0]), pooled, call.pool);
    pool(kind_, planes_, pooled, static_cast<float*>(call.outputs[0]), call.pool);
  }
  std::string describe() const override { return std::string(name_of(kind_)) + " of volumes"; }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(planes_.planes * planes_.in_height * planes_.in_width) * sizeof(float);
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents x = ports.input(0), y = ports.output(0);
    if (x.count() == 0) return nullptr;
    return make_in_block<VolumePoolKernel>(kind_, form_, x, y);
  }

 private:
  PoolKind kind_;
  std::shared_ptr<const WindowForm> form_;
  PoolShape depths_, planes_;
};

std::unique_ptr<Kernel> make_volume(const StepContext& context, PoolKind kind) {
  if (context.has_output(1)) return nullptr;
  const std::optional<WindowForm> form = pooling_form(context, 3, 3);
  if (!form) return nullptr;
  return std::make_unique<VolumePoolKernel>(kind, std::make_shared<const WindowForm>(*form),
                                            context.inputs[0].shape, context.outputs[0].shape);
}

std::unique_ptr<Kernel> make_max(const StepContext& context) { return make_volume(context, PoolKind::max); }
std::unique_ptr<Kernel> make_average(const StepContext& context) {
  const bool with_pads = context.integer("count_include_pad", 0) != 0;
  return make_volume(context, with_pads ? PoolKind::average_with_pads : PoolKind::average);
}

}  // namespace

void pooling_volume_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "MaxPool", make_max});
  table.push_back({"", "AveragePool", make_average});
}

}  // namespace axrun::runtime
