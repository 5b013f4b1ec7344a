// Floats of 16 bits as f32, which holds them: weights that are stored so.
#include <bit>

#include "runtime/plan/kernel.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr int64_t grain_elements = 16384;

float from_bf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

/// The exponent's bias is mended by a product that is exact, denormals included; infinities and NaN have
/// their own exponent. NaN become quiet, as processors make them.
float from_f16(uint16_t bits) {
  constexpr uint32_t magnitude = 0x7FFF, infinity = 0x7C00, quiet = 0x00400000, all_exponent = 0x7F800000;
  constexpr float bias = 0x1p112f;
  const uint32_t low = bits & magnitude, sign = static_cast<uint32_t>(bits & ~magnitude) << 16;
  const uint32_t shifted = low << 13;
  const auto finite = std::bit_cast<uint32_t>(std::bit_cast<float>(shifted) * bias);
  const uint32_t special = shifted | all_exponent | (low > infinity ? quiet : 0);
  return std::bit_cast<float>(sign | (low < infinity ? finite : special));
}

class WideningKernel final : public Kernel {
 public:
  WideningKernel(ElementType from, int64_t count) : from_(from), count_(count) {}

  void run(const KernelCall& call) const override {
    const auto* x = static_cast<const uint16_t*>(call.inputs[0]);
    auto* y = static_cast<float*>(call.outputs[0]);
    call.pool.parallel_for(count_, grain_elements, [&](int64_t begin, int64_t end) {
      if (from_ == ElementType::bf16) {
        for (int64_t i = begin; i < end; ++i) y[i] = from_bf16(x[i]);
      } else {
        for (int64_t i = begin; i < end; ++i) y[i] = from_f16(x[i]);
      }
    });
  }
  std::string describe() const override { return from_ == ElementType::bf16 ? "widen bf16" : "widen f16"; }

 private:
  ElementType from_;
  int64_t count_;
};

std::unique_ptr<Kernel> make_widening(const StepContext& context) {
  if (context.fused() || context.outputs[0].type != ElementType::f32) return nullptr;
  const ElementType from = context.inputs[0].type;
  if (from != ElementType::bf16 && from != ElementType::f16) return nullptr;
  return std::make_unique<WideningKernel>(from, context.outputs[0].count());
}

}  // namespace

void widening_factories(std::vector<FactoryEntry>& table) { table.push_back({"", "Cast", make_widening}); }

}  // namespace axrun::runtime
