// Recurrent layers large enough for several threads: right, and to the bit the same with any number of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "runtime/parallel.h"
#include "tests/kernels/seed.h"
#include "tests/operators/generators.h"
#include "tests/operators/step.h"

namespace axrun::runtime {
namespace {

bool same_bits(const std::vector<ir::Tensor>& a, const std::vector<ir::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ir::Tensor& x, const ir::Tensor& y) {
    return x.shape() == y.shape() && (x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0);
  });
}

/// The kernel of the only row for the operator; null where it does not cover the case.
std::unique_ptr<Kernel> kernel_of(std::string_view op, const StepUnderTest& step) {
  const auto& rows = all_factories();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const FactoryEntry& r) { return r.op == op; });
  return row->make(step.context());
}

class RecurrentThreads : public testing::TestWithParam<const char*> {
 protected:
  /// Runs the case with one thread to eight, on TBB and on plain threads.
  void check(const Case& test_case, const std::vector<ir::Tensor>& wanted) {
    std::vector<ir::Tensor> of_one;
    for (const int threads : {1, 2, 3, 4, 8}) {
      const StepUnderTest step(test_case, threads);
      const auto kernel = kernel_of(GetParam(), step);
      ASSERT_NE(kernel, nullptr);
      for (const auto backend : {ParallelBackend::tbb, ParallelBackend::threads}) {
        const auto pool = ThreadPool::make(threads, backend);
        for (int repeat = 0; repeat < 2; ++repeat) {
          const std::vector<ir::Tensor> results = step.run(*kernel, *pool);
          if (of_one.empty()) {
            of_one = results;
            ASSERT_EQ(difference(results, wanted, test_case.tolerance), "");
          }
          ASSERT_TRUE(same_bits(results, of_one)) << threads << " threads, " << kernel->describe();
        }
      }
      // A pool may have fewer threads than the plan was made for.
      const auto one = ThreadPool::make(1);
      ASSERT_TRUE(same_bits(step.run(*kernel, *one), of_one)) << "one thread for a plan of " << threads;
    }
  }
};

TEST_P(RecurrentThreads, NeverChangeABit) {
  int checked = 0;
  for (uint64_t k = 0; k < 20; ++k) {
    const uint64_t seed = test_seed() + k * 0x9e3779b97f4a7c15ULL;
    Random random(seed);
    // Above and below what is worth several threads; batches above a register tile, too.
    const int64_t batch = random.chance(70) ? random.integer(1, 3) : random.integer(4, 16);
    const int64_t hidden = random.chance(50) ? random.integer(100, 200) : random.integer(20, 130);
    const RecurrentSizes sizes = {random.integer(5, 12), batch, random.integer(1, 9), hidden};
    const Case test_case = std::string_view(GetParam()) == "DynamicQuantizeLSTM"
                               ? draw_quantized_lstm(random, sizes)
                               : draw_recurrent(random, GetParam(), sizes);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, test_case.describe()));
    const StepUnderTest step(test_case, 1);
    if (kernel_of(GetParam(), step) == nullptr) continue;
    ASSERT_NO_FATAL_FAILURE(check(test_case, step.evaluate(step.programs())));
    ++checked;
  }
  EXPECT_GE(checked, 10);
}

INSTANTIATE_TEST_SUITE_P(Cells, RecurrentThreads,
                         testing::Values("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace axrun::runtime
