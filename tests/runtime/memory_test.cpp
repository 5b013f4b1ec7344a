// What memory the runtime takes: the plan of the arena, and allocations while running.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "runtime/parallel.h"
#include "runtime/plan/memory_plan.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<int64_t> allocations{0};
void* counted(std::size_t bytes, std::size_t alignment) {
  if (counting) ++allocations;
  void* memory = alignment > 16
                     ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                     : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace

// Inlined into callers, the compiler sees `free` on what came from `new`.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
void* operator new(std::size_t bytes) { return counted(bytes, 16); }
void* operator new[](std::size_t bytes) { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, 16); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace axrun::tests {
namespace {

using runtime::BufferLife;

/// Allocations of a hundred runs, after three others, with bound outputs of the shape.
int64_t allocations_of(runtime::Session& session, const std::vector<ir::Tensor>& inputs,
                       const ir::Shape& output_shape) {
  std::vector<ir::Tensor> outputs = {ir::Tensor::allocate(ir::ElementType::f32, output_shape)};
  for (int i = 0; i < 3; ++i) session.run_into(inputs, outputs);
  allocations = 0;
  counting = true;
  for (int i = 0; i < 100; ++i) session.run_into(inputs, outputs);
  counting = false;
  return allocations;
}

TEST(Allocations, NoneAfterWarmUpForStaticShapes) {
  const auto session = residual_network(2).session(one_thread());
  EXPECT_EQ(allocations_of(*session, {ModelMaker::random({2, 3, 12, 12}, 9)}, {2, 16}), 0);
}

TEST(Allocations, NoneWhereAnOutputsBufferHoldsValuesOfAnotherTypeFirst) {
  // The integers are converted in place, in the output's buffer.
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {3, 4});
  const ir::ValueId scale = m.constant(ir::Tensor::allocate(ir::ElementType::f32, {}));
  m.graph().value(scale).constant.as<float>()[0] = 0.01F;
  const ir::ValueId weights = m.constant(ir::Tensor::allocate(ir::ElementType::i8, {4, 5}));
  for (int i = 0; i < 20; ++i) m.graph().value(weights).constant.as<int8_t>()[i] = static_cast<int8_t>(i);
  const ir::ValueId product = m.node("MatMulInteger", {m.node("QuantizeLinear", {x, scale}), weights});
  const ir::ValueId real = m.node("Cast", {product}, {{"to", ModelMaker::attribute(int64_t{1})}});
  m.output(m.node("Add", {real, m.weights({5}, 3)}));
  const auto session = m.session(one_thread());
  EXPECT_EQ(allocations_of(*session, {ModelMaker::random({3, 4}, 5)}, {3, 5}), 0);
}

TEST(Allocations, NoneInRecurrentLayersThatSpreadTheirUnits) {
  struct Cell {
    const char* op;
    int64_t gates;
  };
  for (const Cell& cell : {Cell{"LSTM", 4}, Cell{"GRU", 3}, Cell{"RNN", 1}}) {
    constexpr int64_t hidden = 512;
    ModelMaker m;
    const ir::ValueId x = m.input("x", ir::ElementType::f32, {3, 16, hidden});
    const ir::Shape weights{1, cell.gates * hidden, hidden};
    m.output(m.node(cell.op, {x, m.weights(weights, 1), m.weights(weights, 2)},
                    {{"hidden_size", ModelMaker::attribute(hidden)}}));
    for (const int threads : {1, 2}) {
      runtime::SessionOptions options;
      options.threads = threads;
      options.optimize = false;
      options.make_pool = [](int count) {
        return runtime::ThreadPool::make(count, runtime::ParallelBackend::threads);
      };
      const auto session = m.session(options);
      EXPECT_EQ(allocations_of(*session, {ModelMaker::random({3, 16, hidden}, 9)}, {3, 1, 16, hidden}), 0)
          << cell.op << " on " << threads << " threads";
    }
  }
}

TEST(Allocations, TheCounterCounts) {
  allocations = 0;
  counting = true;
  const std::vector<int> some(100);
  counting = false;
  EXPECT_EQ(allocations, 1);
  EXPECT_EQ(some.size(), 100u);
}

TEST(MemoryPlan, BuffersAliveTogetherNeverOverlap) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<BufferLife> buffers(1 + random() % 60);
    for (BufferLife& buffer : buffers) {
      buffer.bytes = random() % 5000;
      buffer.first = static_cast<int>(random() % 50);
      buffer.last = buffer.first + static_cast<int>(random() % 10);
    }
    for (bool reuse : {true, false}) {
      const auto plan = runtime::plan_memory(buffers, runtime::MemoryOrder(buffers), reuse);
      for (size_t a = 0; a < buffers.size(); ++a) {
        EXPECT_EQ(plan.offsets[a] % 64, 0u);
        EXPECT_LE(plan.offsets[a] + buffers[a].bytes, plan.bytes);
        for (size_t b = 0; b < a; ++b) {
          const bool together = buffers[a].first <= buffers[b].last && buffers[b].first <= buffers[a].last;
          const bool apart = plan.offsets[a] + buffers[a].bytes <= plan.offsets[b] ||
                             plan.offsets[b] + buffers[b].bytes <= plan.offsets[a];
          ASSERT_TRUE(apart || (reuse && !together)) << "seed " << seed;
        }
      }
    }
  }
}

TEST(MemoryPlan, AChainNeedsTwoBuffers) {
  std::vector<BufferLife> chain;
  for (int i = 0; i < 20; ++i) chain.push_back({1000, i, i + 1});
  EXPECT_EQ(runtime::plan_memory(chain, runtime::MemoryOrder(chain), true).bytes, 2 * 1024u);
  EXPECT_EQ(runtime::plan_memory(chain, runtime::MemoryOrder(chain), false).bytes, 20 * 1024u);
}

}  // namespace
}  // namespace axrun::tests
