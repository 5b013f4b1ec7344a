// axrun as one of the libraries: its precompiled kernels called as its operators call them, constant operands
// packed; products of a vector and constant weights by the kernels that the optimiser makes.
#include <map>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/text.h"
#include "jit/kernel_code.h"
#include "perf/kernels/array.h"
#include "perf/kernels/library.h"
#include "runtime/host_target.h"
#include "runtime/kernels/kernels.h"
#include "runtime/optimizer/jit_kernel.h"
#include "runtime/version.h"
#include "search/lowering.h"

namespace axrun::perf {
namespace {

using runtime::ConvMethod;
using runtime::ConvShape;
using runtime::GemmArguments;
using runtime::ThreadPool;

Array<float> for_bytes(size_t bytes) { return Array<float>(static_cast<int64_t>(bytes / sizeof(float)) + 1); }

class Axrun final : public Library {
 public:
  std::string name() const override { return "axrun"; }
  std::string version() const override {
    return std::string(runtime::version()) + " " + runtime::isa_level_name(runtime::isa_level());
  }
  void set_threads(int) override {}  // the pool says

  Ready product(const Product& p, ThreadPool& pool) override {
    if (p.m == 1 && p.batch == 1 && p.constant_b && !p.transposed_b)
      return vector_product("f32", p.n, p.k, p.a, p.b, p.c, pool);
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
    const Array<float> packed = for_bytes(p.constant_b ? runtime::gemm_packed_b_bytes(p.k, p.n) : 0);
    if (p.constant_b) {
      runtime::gemm_pack_b(p.k, p.n, g.b, g.b_row_stride, g.b_column_stride, packed.data());
      g.packed_b = packed.data();
    }
    const Array<float> scratch = for_bytes(runtime::gemm_scratch_bytes(g, pool.threads()));
    return {[g, packed, scratch, &pool] { runtime::gemm(g, scratch.data(), pool); }, {}};
  }

  Ready narrow_product(const NarrowProduct& p, ThreadPool& pool) override {
    return vector_product("bf16", p.n, p.k, p.a, p.b, p.c, pool);
  }

  Ready convolution(const Convolution& c, ThreadPool& pool) override {
    const ConvMethod method = runtime::choose_conv_method(c.shape);
    const Array<float> packed = for_bytes(runtime::conv_packed_bytes(method, c.shape));
    const Array<float> scratch = for_bytes(runtime::conv_scratch_bytes(method, c.shape, pool.threads()));
    runtime::conv_pack(method, c.shape, c.weights, packed.data());
    runtime::Epilogue epilogue;
    epilogue.row_bias = c.bias;
    epilogue.activation = runtime::Activation::relu;
    return {[c, method, packed, scratch, epilogue, &pool] {
              runtime::conv2d(method, c.shape, packed.data(), c.x, c.y, epilogue, scratch.data(), pool);
            },
            {}};
  }

 private:
  /// The kernel that the optimiser makes: weights are read as they are stored.
  static Ready vector_product(const std::string& type, int64_t columns, int64_t depth, const void* vector,
                              const void* weights, float* result, ThreadPool& pool) {
    const std::string n = std::to_string(columns), k = std::to_string(depth);
    const ir::Program product =
        ir::parse("program product(a: " + type + "[" + k + "], b: " + type + "[" + k + ", " + n +
                  "]) -> (c) {\n  c: f32[" + n + "] = reduce sum (i0: " + n + "; r0: " + k +
                  ") { cast(f32, a[r0]) * cast(f32, b[r0, i0]) }\n}");
    const std::vector<bool> constant = {false, true};
    const search::Lowered lowered = search::lower(product, {}, constant, runtime::host_target());
    if (!lowered.program) throw Error(Fault::internal, lowered.reason);
    const auto code = jit::KernelCode::compile(*lowered.program, runtime::host_target(), {});
    const auto kernel = std::make_shared<jit::BoundKernel>(code, std::map<std::string, int64_t>(), constant);
    const std::vector<const void*> inputs = {vector, weights};
    kernel->prepare(inputs.data(), jit::inline_workers());
    const Array<float> scratch = for_bytes(kernel->scratch_bytes(pool.threads()));
    return {[kernel, inputs, scratch, result, &pool] {
              void* outputs[] = {result};
              runtime::PoolWorkers workers(pool);
              kernel->run(inputs.data(), outputs, scratch.data(), workers);
            },
            {}};
  }
};

}  // namespace

std::unique_ptr<Library> make_axrun() { return std::make_unique<Axrun>(); }

}  // namespace axrun::perf
