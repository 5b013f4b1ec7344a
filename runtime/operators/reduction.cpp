// Reductions over a run of adjacent axes, float32.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/kernels/kernels.h"
#include "runtime/plan/kernel.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

/// The reduced axes as one run; empty when they are apart (dims of size 1 between them do not count).
template <typename Dims>
std::optional<AxisView> view_of(const Dims& shape, const std::vector<bool>& reduced) {
  AxisView view;
  int phase = 0;  // before, inside, after the run
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (reduced[d]) {
      if (phase == 2) return std::nullopt;
      phase = 1;
      view.extent *= shape[d];
    } else if (phase == 0) {
      view.outer *= shape[d];
    } else {
      phase = 2;
      view.inner *= shape[d];
    }
  }
  return view;
}

class ReduceKernel final : public Kernel {
 public:
  ReduceKernel(Reduction reduction, std::vector<bool> reduced, AxisView view)
      : reduction_(reduction), reduced_(std::move(reduced)), view_(view) {}
  void run(const KernelCall& call) const override {
    reduce(reduction_, view_, static_cast<const float*>(call.inputs[0]), static_cast<float*>(call.outputs[0]),
           call.pool);
  }
  std::string describe() const override { return "reduce"; }
  double flops() const override { return static_cast<double>(view_.outer * view_.extent * view_.inner); }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    const Extents shape = ports.input(0);
    const auto view = view_of(shape, reduced_);
    if (!view || shape.count() == 0 || ports.is_told(1)) return nullptr;
    return make_in_block<ReduceKernel>(reduction_, reduced_, *view);
  }

 private:
  Reduction reduction_;
  std::vector<bool> reduced_;
  AxisView view_;
};

template <Reduction reduction>
std::unique_ptr<Kernel> make(const StepContext& context) {
  if (context.fused() || !context.has_input(0) || context.inputs[0].type != ir::ElementType::f32)
    return nullptr;
  const StepPort& x = context.inputs[0];
  if (x.count() == 0 || context.outputs[0].count() == 0) return nullptr;
  std::vector<int64_t> axes = context.integers("axes");
  if (context.has_input(1)) {
    if (context.inputs[1].constant == nullptr) return nullptr;
    axes = context.inputs[1].constant->to_ints();
  }
  if (axes.empty() && context.integer("noop_with_empty_axes", 0) != 0) return nullptr;
  std::vector<bool> reduced(x.shape.size(), axes.empty());
  for (int64_t axis : axes) reduced[static_cast<size_t>(axis < 0 ? axis + x.rank() : axis)] = true;
  const auto view = view_of(x.shape, reduced);
  if (!view) return nullptr;
  return std::make_unique<ReduceKernel>(reduction, std::move(reduced), *view);
}

}  // namespace

void reduction_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"", "ReduceSum", make<Reduction::sum>});
  table.push_back({"", "ReduceMean", make<Reduction::mean>});
  table.push_back({"", "ReduceMax", make<Reduction::max>});
  table.push_back({"", "ReduceMin", make<Reduction::min>});
  table.push_back({"", "ReduceProd", make<Reduction::product>});
  table.push_back({"", "ReduceSumSquare", make<Reduction::sum_square>});
  table.push_back({"", "ReduceL1", make<Reduction::l1>});
  table.push_back({"", "ReduceL2", make<Reduction::l2>});
}

}  // namespace axrun::runtime
