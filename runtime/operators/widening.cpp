// Cast between f32 and floats of 16 bits.
#include "runtime/operators/narrow_parts.h"
#include "runtime/plan/kernel.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

class WideningKernel final : public Kernel {
 public:
  WideningKernel(NarrowFloat from, int64_t count) : from_(from), count_(count) {}

  void run(const KernelCall& call) const override {
    widen(from_, count_, call.inputs[0], static_cast<float*>(call.outputs[0]), call.pool);
  }
  std::string describe() const override { return from_ == NarrowFloat::bf16 ? "widen bf16" : "widen f16"; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    return make_in_block<WideningKernel>(from_, ports.output(0).count());
  }

 private:
  NarrowFloat from_;
  int64_t count_;
};

class NarrowingKernel final : public Kernel {
 public:
  NarrowingKernel(NarrowFloat to, int64_t count) : to_(to), count_(count) {}

  void run(const KernelCall& call) const override {
    narrow(to_, count_, static_cast<const float*>(call.inputs[0]), call.outputs[0], call.pool);
  }
  std::string describe() const override {
    return to_ == NarrowFloat::bf16 ? "narrow to bf16" : "narrow to f16";
  }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    return make_in_block<NarrowingKernel>(to_, ports.output(0).count());
  }

 private:
  NarrowFloat to_;
  int64_t count_;
};

std::unique_ptr<Kernel> make_cast(const StepContext& context) {
  if (context.fused() || !context.has_output(0)) return nullptr;
  const StepPort &from = context.inputs[0], &to = context.outputs[0];
  if (const auto narrow = narrow_type(from.type); narrow && to.type == ElementType::f32) {
    return std::make_unique<WideningKernel>(*narrow, to.count());
  }
  if (const auto narrow = narrow_type(to.type); narrow && from.type == ElementType::f32) {
    return std::make_unique<NarrowingKernel>(*narrow, to.count());
  }
  return nullptr;
}

}  // namespace

void widening_factories(std::vector<FactoryEntry>& table) { table.push_back({"", "Cast", make_cast}); }

}  // namespace axrun::runtime
