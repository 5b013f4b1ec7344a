// Kernels of operators on floats of 16 bits: the cases of all generators, with such floats.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "ir/error.h"
#include "ir/operator.h"
#include "runtime/parallel.h"
#include "tests/kernels/seed.h"
#include "tests/operators/generators.h"
#include "tests/operators/step.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

ir::Tensor narrowed(const ir::Tensor& tensor, ElementType type) {
  ir::Tensor result = ir::Tensor::allocate(type, tensor.shape());
  for (int64_t i = 0; i < tensor.size(); ++i) result.set_real(i, tensor.get_real(i));
  return result;
}

/// The same case on floats of 16 bits.
Case narrowed(const Case& from, ElementType type) {
  Case result = from;
  for (ir::Tensor& value : result.values) {
    if (value.defined() && value.type() == ElementType::f32) value = narrowed(value, type);
  }
  return result;
}

class WidenedKernels : public testing::TestWithParam<ElementType> {};

TEST_P(WidenedKernels, GiveWhatTheExpressionsGive) {
  std::map<std::string, int> accepted;
  const uint64_t first = test_seed();
  for (const GeneratorEntry& generator : all_generators()) {
    for (uint64_t k = 0; k < 12; ++k) {
      Random random(first + k);
      const Case test_case = narrowed(generator.draw(random), GetParam());
      SCOPED_TRACE(fmt::format("seed {}: {}", first + k, test_case.describe()));
      const int threads = random.chance(50) ? 1 : 3;
      std::unique_ptr<StepUnderTest> step;
      std::vector<ir::Tensor> wanted;
      try {
        step = std::make_unique<StepUnderTest>(test_case, threads);
      } catch (const Error&) {
        continue;  // not an operator on such floats
      } catch (const ir::NotYetKnown&) {
        continue;
      }
      const auto kernel = make_kernel(step->context());
      if (kernel == nullptr || kernel->describe().find("widened") == std::string::npos) continue;
      ++accepted[std::string(generator.op)];
      wanted = step->evaluate(step->programs());
      const auto pool = ThreadPool::make(threads);
      // Results of 16 bits, which may be rounded once more on the way where the expression has more than one
      // stage.
      const double tolerance = GetParam() == ElementType::bf16 ? 0x1p-6 : 0x1p-9;
      EXPECT_EQ(difference(step->run(*kernel, *pool), wanted, std::max(tolerance, test_case.tolerance)), "")
          << kernel->describe();
    }
  }
  for (const char* op :
       {"Conv", "MatMul", "Gemm", "Softmax", "LayerNormalization", "Add", "ReduceMean", "AveragePool"}) {
    EXPECT_GT(accepted[op], 0) << op;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, WidenedKernels, testing::Values(ElementType::f16, ElementType::bf16),
                         [](const auto& type) { return type.param == ElementType::f16 ? "f16" : "bf16"; });

}  // namespace
}  // namespace axrun::runtime
