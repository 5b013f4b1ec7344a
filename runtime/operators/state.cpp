// What states that stay in place are written by.
#include <cstring>

#include "ir/operator.h"
#include "runtime/operators/indexing_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

/// Where the buffer is the result's own memory, nothing but the new elements is touched: others may read what
/// lies before them at the same time, or write what lies behind.
class AppendKernel final : public Kernel {
 public:
  AppendKernel(const StepContext& context, size_t axis)
      : axis_(axis), element_(static_cast<int64_t>(ir::size_of(context.inputs[0].type))) {
    size(context.inputs[0].shape, context.inputs[1].shape, context.inputs[2].shape);
  }

  void run(const KernelCall& call) const override {
    if (call.outputs[1] != nullptr) *static_cast<int64_t*>(call.outputs[1]) = length_;
    const auto* from = static_cast<const char*>(call.inputs[0]);
    const auto* added = static_cast<const char*>(call.inputs[2]);
    auto* to = static_cast<char*>(call.outputs[0]);
    if (to == nullptr) return;
    for (int64_t row = 0; row < rows_; ++row) {
      if (to != from && row_bytes_ > 0) std::memcpy(to, from, static_cast<size_t>(row_bytes_));
      if (new_bytes_ > 0) std::memcpy(to + past_bytes_, added, static_cast<size_t>(new_bytes_));
      to += row_bytes_;
      from += row_bytes_;
      added += new_bytes_;
    }
  }
  std::string describe() const override { return "append"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    auto other = make_in_block<AppendKernel>(*this);
    other->size(ports.input(0), ports.input(1), ports.input(2));
    return other;
  }

 private:
  template <typename Dims>
  void size(const Dims& buffer, const Dims& past, const Dims& added) {
    rows_ = 1;
    int64_t step = element_;
    for (size_t d = 0; d < axis_; ++d) rows_ *= buffer[d];
    for (size_t d = axis_ + 1; d < buffer.size(); ++d) step *= buffer[d];
    row_bytes_ = buffer[axis_] * step;
    past_bytes_ = past[axis_] * step;
    new_bytes_ = added[axis_] * step;
    length_ = past[axis_] + added[axis_];
  }

  size_t axis_;
  int64_t element_;
  int64_t rows_ = 1, row_bytes_ = 0, past_bytes_ = 0, new_bytes_ = 0, length_ = 0;
};

std::unique_ptr<Kernel> make_append(const StepContext& context) {
  if (context.fused() || context.inputs.size() != 3 || !is_movable(context.inputs[0].type)) return nullptr;
  // The past is there for its shape alone.
  return std::make_unique<AppendKernel>(context, axis_of(context, 0, context.inputs[0].rank()));
}

}  // namespace

void state_factories(std::vector<FactoryEntry>& table) {
  table.push_back({ir::state_domain, "Append", make_append});
}

}  // namespace axrun::runtime
