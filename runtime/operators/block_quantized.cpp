// MatMulNBits: products with a matrix quantised in blocks.
#include <fmt/format.h>

#include "runtime/operators/quantized_parts.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

enum Port : size_t { a_port, fields_port, scales_port, zeros_port, order_port, bias_port };

class BlockProductKernel final : public Kernel {
 public:
  BlockProductKernel(const StepContext& context, const BlockQuantizedMatrix& sizes, int64_t m)
      : sizes_(sizes),
        has_zeros_(context.has_input(zeros_port)),
        has_bias_(context.has_input(bias_port)),
        threads_(context.threads) {
    zeros_packed_ = has_zeros_ && context.inputs[zeros_port].type == ElementType::u8;
    size(m);
  }

  void run(const KernelCall& call) const override {
    block_quantized_gemm(product(call.inputs, static_cast<float*>(call.outputs[0])), call.scratch, call.pool);
  }
  std::string describe() const override {
    return fmt::format("{} bit product {}x{}x{} blocks of {}{}", sizes_.bits, m_, sizes_.n, sizes_.k,
                       sizes_.block, has_bias_ ? " +bias" : "");
  }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  std::shared_ptr<const Kernel> resized(const PortSizes& ports) const override {
    if (ports.output(0).count() == 0) return nullptr;
    auto other = make_in_block<BlockProductKernel>(*this);
    other->size(ports.input(a_port).count() / sizes_.k);
    return other;
  }
  double flops() const override {
    return 2.0 * static_cast<double>(m_) * static_cast<double>(sizes_.n) * static_cast<double>(sizes_.k);
  }

 private:
  void size(int64_t m) {
    m_ = m;
    const void* const none[bias_port + 1] = {};
    scratch_bytes_ = block_quantized_scratch_bytes(product(none, nullptr), threads_);
  }
  BlockQuantizedGemm product(const void* const* inputs, float* c) const {
    BlockQuantizedGemm g;
    g.w = sizes_;
    g.w.fields = static_cast<const uint8_t*>(inputs[fields_port]);
    g.w.scales = static_cast<const float*>(inputs[scales_port]);
    if (zeros_packed_) {
      g.w.packed_zeros = static_cast<const uint8_t*>(inputs[zeros_port]);
    } else if (has_zeros_) {
      g.w.zeros = static_cast<const float*>(inputs[zeros_port]);
    }
    g.m = m_;
    g.a = static_cast<const float*>(inputs[a_port]);
    if (has_bias_) g.bias = static_cast<const float*>(inputs[bias_port]);
    g.c = c;
    return g;
  }

  BlockQuantizedMatrix sizes_;  ///< without pointers
  bool has_zeros_, zeros_packed_ = false, has_bias_;
  int threads_;
  int64_t m_ = 0;
  size_t scratch_bytes_ = 0;
};

bool f32_or_absent(const StepContext& context, size_t k) {
  return !context.has_input(k) || context.inputs[k].type == ElementType::f32;
}

std::unique_ptr<Kernel> make_matmul_n_bits(const StepContext& context) {
  if (context.fused() || context.has_input(order_port) || context.outputs[0].count() == 0) return nullptr;
  if (context.inputs[a_port].type != ElementType::f32 || context.inputs[scales_port].type != ElementType::f32)
    return nullptr;
  const bool zeros_packed =
      context.has_input(zeros_port) && context.inputs[zeros_port].type == ElementType::u8;
  if (!zeros_packed && !f32_or_absent(context, zeros_port)) return nullptr;
  if (!f32_or_absent(context, bias_port)) return nullptr;
  BlockQuantizedMatrix sizes;
  sizes.n = context.integer("N", 0);
  sizes.k = context.integer("K", 0);
  sizes.block = context.integer("block_size", 0);
  sizes.bits = static_cast<int>(context.integer("bits", 4));
  return std::make_unique<BlockProductKernel>(context, sizes, context.inputs[a_port].count() / sizes.k);
}

}  // namespace

void block_quantized_factories(std::vector<FactoryEntry>& table) {
  table.push_back({"com.microsoft", "MatMulNBits", make_matmul_n_bits});
}

}  // namespace axrun::runtime
