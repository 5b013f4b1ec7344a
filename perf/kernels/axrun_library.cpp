// axrun as one of the libraries: its kernels called as its operators call them, constant operands packed.
// Where it has no kernel for an operator, what a session runs today for a model of that operator alone.
#include <cstring>

#include "ir/tensor.h"
#include "perf/kernels/buffer.h"
#include "perf/kernels/library.h"
#include "perf/kernels/model.h"
#include "runtime/kernels/kernels.h"
#include "runtime/session.h"
#include "runtime/version.h"

namespace axrun::perf {
namespace {

using ir::ElementType;
using runtime::ConvMethod;
using runtime::ConvShape;
using runtime::GemmArguments;
using runtime::ThreadPool;

Buffer<float> for_bytes(size_t bytes) {
  return Buffer<float>(static_cast<int64_t>(bytes / sizeof(float)) + 1);
}

class Axrun final : public Library {
 public:
  std::string name() const override { return "axrun"; }
  std::string version() const override {
    return std::string(runtime::version()) + " " + runtime::isa_level_name(runtime::isa_level());
  }
  void set_threads(int) override {}  // the pool says

  Ready product(const Product& p, ThreadPool& pool) override {
    GemmArguments g;
    g.m = p.m, g.n = p.n, g.k = p.k;
    g.a = p.a, g.a_row_stride = p.k;
    g.b = p.b;
    g.b_row_stride = p.transposed_b ? 1 : p.n;
    g.b_column_stride = p.transposed_b ? p.k : 1;
    g.c = p.c, g.c_row_stride = p.n;
    if (p.batch > 1) {
      g.batch_rank = 1;
      g.batch_extents[0] = p.batch;
      g.a_batch_strides[0] = p.m * p.k, g.b_batch_strides[0] = p.k * p.n, g.c_batch_strides[0] = p.m * p.n;
    }
    const Buffer<float> packed = for_bytes(p.constant_b ? runtime::gemm_packed_b_bytes(p.k, p.n) : 0);
    if (p.constant_b) {
      runtime::gemm_pack_b(p.k, p.n, g.b, g.b_row_stride, g.b_column_stride, packed.data());
      g.packed_b = packed.data();
    }
    const Buffer<float> scratch = for_bytes(runtime::gemm_scratch_bytes(g, pool.threads()));
    return {[g, packed, scratch, &pool] { runtime::gemm(g, scratch.data(), pool); }, {}};
  }

  /// There is no kernel of bfloat16: the model casts both operands and multiplies in float32.
  Ready narrow_product(const NarrowProduct& p, ThreadPool& pool) override {
    ModelWriter model(17);
    ir::Tensor weights = ir::Tensor::allocate_uninitialized(ElementType::bf16, {p.k, p.n});
    std::memcpy(weights.data(), p.b, weights.bytes());
    const ir::ValueId a = model.input("a", {1, p.k}, ElementType::bf16);
    model.output(
        model.node("MatMul", {model.cast_to_float32(a), model.cast_to_float32(model.constant(weights))}));
    const std::shared_ptr<runtime::Session> session = model.session(pool.threads());
    const auto input = ir::Tensor::borrow(ElementType::bf16, {1, p.k}, const_cast<uint16_t*>(p.a));
    std::vector<ir::Tensor> outputs = {ir::Tensor::borrow(ElementType::f32, {1, p.n}, p.c)};
    return {[session, input, outputs]() mutable { session->run_into({input}, outputs); }, {}};
  }

  Ready convolution(const Convolution& c, ThreadPool& pool) override {
    const ConvMethod method = runtime::choose_conv_method(c.shape);
    const Buffer<float> packed = for_bytes(runtime::conv_packed_bytes(method, c.shape));
    const Buffer<float> scratch = for_bytes(runtime::conv_scratch_bytes(method, c.shape, pool.threads()));
    runtime::conv_pack(method, c.shape, c.weights, packed.data());
    runtime::Epilogue epilogue;
    epilogue.row_bias = c.bias;
    epilogue.activation = runtime::Activation::relu;
    return {[c, method, packed, scratch, epilogue, &pool] {
              runtime::conv2d(method, c.shape, packed.data(), c.x, c.y, epilogue, scratch.data(), pool);
            },
            {}};
  }
};

}  // namespace

std::unique_ptr<Library> make_axrun() { return std::make_unique<Axrun>(); }

}  // namespace axrun::perf
