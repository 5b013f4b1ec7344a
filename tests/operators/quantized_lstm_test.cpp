// DynamicQuantizeLSTM over several steps. A state in the middle between two bytes may round the other way
// than in the expression, which is rare: most cases must agree as those of other operators do. A range taken
// over the wrong states would show in all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/parallel.h"
#include "tests/kernels/seed.h"
#include "tests/operators/generators.h"
#include "tests/operators/step.h"

namespace axrun::runtime {
namespace {

TEST(QuantizedLstm, RoundsStatesAsItsExpressionDoes) {
  constexpr int cases = 60;
  int close = 0;
  for (uint64_t k = 0; k < cases; ++k) {
    Random random(test_seed() + k * 0x9e3779b97f4a7c15ULL);
    const int64_t length = random.integer(2, 5), batch = random.integer(1, 3), input = random.integer(1, 9);
    const Case test_case = draw_quantized_lstm(random, {length, batch, input, random.integer(2, 9)});
    const StepUnderTest step(test_case, 1);
    const auto factories = factories_for("com.microsoft", "DynamicQuantizeLSTM");
    ASSERT_FALSE(factories.empty());
    const auto kernel = factories[0](step.context());
    ASSERT_NE(kernel, nullptr);
    const auto pool = ThreadPool::make(1);
    const std::string different = difference(step.run(*kernel, *pool), step.evaluate(step.programs()), 5e-5);
    close += different.empty() ? 1 : 0;
  }
  EXPECT_GE(close, cases * 3 / 4);
}

}  // namespace
}  // namespace axrun::runtime
