#include "runtime/optimizer/jit_kernel.h"

#include <gtest/gtest.h>

#include "ir/error.h"
#include "runtime/host_target.h"
#include "runtime/parallel.h"

namespace axrun::tests {
namespace {

using namespace runtime;

constexpr const char* scaled = R"(loops scaled(n: 1..4096) {
  input x: f32[n]
  input w: f32[n]
  output y: f32[n]
  allocate doubled: f32[n] in memory
  parallel j0 step 64 < n {
    vector j1 < min(64, n - j0) {
      doubled[j0 + j1] = mul(w[j0 + j1], 2:f32)
    }
  }
  parallel i0 step 64 < n {
    vector i1 < min(64, n - i0) {
      y[i0 + i1] = mul(x[i0 + i1], doubled[i0 + i1]) computes y(i0 + i1) inverse(64*(x0 / 64), x0 mod 64)
    }
  }
}
)";

TEST(JitKernel, RunsOnAPoolWithItsConstantPrepared) {
  const ir::loop::LoopProgram program = ir::loop::parse(scaled);
  for (const bool constant : {false, true}) {
    constexpr int64_t count = 1000;
    std::vector<float> x(count), w(count), y(count);
    for (int64_t i = 0; i < count; ++i) {
      x[static_cast<size_t>(i)] = static_cast<float>(i);
      w[static_cast<size_t>(i)] = static_cast<float>(i % 7);
    }
    const auto pool = ThreadPool::make(3);
    jit::BoundKernel bound(jit::KernelCode::compile(program, host_target()), {{"n", count}},
                           {false, constant});
    if (constant) {
      PoolWorkers workers(*pool);
      const void* inputs[] = {nullptr, w.data()};
      bound.prepare(inputs, workers);
    }
    JitKernelParts parts;
    // The step has its inputs the other way round, and one that the kernel does not read.
    parts.inputs = {2, 0};
    parts.outputs = {1};
    parts.threads = pool->threads();
    parts.symbols = {"n"};
    parts.description = [](const SizeValues& sizes) { return fmt::format("jit map {}", sizes.at("n")); };
    const JitKernel kernel(std::make_shared<const JitKernelParts>(parts),
                           std::make_shared<const jit::BoundKernel>(std::move(bound)), {count});
    EXPECT_EQ(kernel.ignores_input(0), constant);
    EXPECT_FALSE(kernel.ignores_input(1));
    EXPECT_FALSE(kernel.ignores_input(2));
    EXPECT_EQ(kernel.describe(), "jit map 1000");

    const AlignedBuffer scratch(kernel.scratch_bytes());
    const void* inputs[] = {constant ? nullptr : w.data(), nullptr, x.data()};
    void* outputs[] = {nullptr, y.data()};
    kernel.run({inputs, outputs, const_cast<void*>(scratch.data()), *pool});
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(y[static_cast<size_t>(i)], static_cast<float>(i * 2 * (i % 7))) << i;
    }
  }
}

/// Large ones begin where huge pages do, and take their memory with them.
TEST(AlignedBuffers, OfAllSizesAreMovedAndFreed) {
  for (const size_t bytes : {size_t{0}, size_t{100}, AlignedBuffer::large_bytes - 1,
                             AlignedBuffer::large_bytes, AlignedBuffer::large_bytes * 2 + 7}) {
    AlignedBuffer buffer(bytes);
    EXPECT_EQ(buffer.size(), bytes);
    if (bytes == 0) continue;
    const size_t alignment = bytes >= AlignedBuffer::large_bytes ? AlignedBuffer::large_bytes : 64;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % alignment, 0U);
    static_cast<char*>(buffer.data())[bytes - 1] = 'x';
    AlignedBuffer moved(std::move(buffer));
    AlignedBuffer assigned(64);
    assigned = std::move(moved);
    EXPECT_EQ(assigned.size(), bytes);
    EXPECT_EQ(static_cast<const char*>(assigned.data())[bytes - 1], 'x');
  }
}

TEST(JitKernel, SizesThatAreNotClaimedAreRefused) {
  const auto code = jit::KernelCode::compile(ir::loop::parse(scaled), host_target());
  EXPECT_THROW(jit::BoundKernel(code, {{"n", 5000}}), Error);
}

}  // namespace
}  // namespace axrun::tests
