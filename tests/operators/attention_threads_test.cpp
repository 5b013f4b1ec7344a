// Attention and what comes with it: to the bit the same with any number of threads.
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
    return x.defined() == y.defined() &&
           (!x.defined() || x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0);
  });
}

void check(const Case& test_case) {
  std::vector<ir::Tensor> of_one;
  for (const int threads : {1, 2, 5}) {
    const StepUnderTest step(test_case, threads);
    const auto kernel = make_kernel(step.context());
    ASSERT_EQ(kernel->describe().find("interpreter"), std::string::npos) << kernel->describe();
    for (const auto backend : {ParallelBackend::tbb, ParallelBackend::threads}) {
      const auto pool = ThreadPool::make(threads, backend);
      const std::vector<ir::Tensor> results = step.run(*kernel, *pool);
      if (of_one.empty()) of_one = results;
      ASSERT_TRUE(same_bits(results, of_one)) << threads << " threads, " << kernel->describe();
    }
  }
}

TEST(AttentionThreads, NeverChangeABit) {
  for (const GeneratorEntry& generator : all_generators()) {
    if (generator.op.find("Attention") == std::string_view::npos && generator.op != "RotaryEmbedding")
      continue;
    for (uint64_t k = 0; k < 30; ++k) {
      const uint64_t seed = test_seed() + k * 0x9e3779b97f4a7c15ULL;
      Random random(seed);
      const Case test_case = generator.draw(random);
      SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << test_case.describe());
      ASSERT_NO_FATAL_FAILURE(check(test_case));
    }
  }
}

}  // namespace
}  // namespace axrun::runtime
