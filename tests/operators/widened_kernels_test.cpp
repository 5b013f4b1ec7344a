// Kernels of operators on floats of 16 bits: the cases of all generators, with such floats.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
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

/// The case with its floats of one type as floats of another.
Case converted(Case of, ElementType from, ElementType to) {
  for (ir::Tensor& value : of.values) {
    if (!value.defined() || value.type() != from) continue;
    ir::Tensor result = ir::Tensor::allocate(to, value.shape());
    for (int64_t i = 0; i < value.size(); ++i) result.set_real(i, value.get_real(i));
    value = result;
  }
  return of;
}

/// Beyond that a result of 16 bits is infinite where the one of 32 is not.
bool are_in_range(const std::vector<ir::Tensor>& results, ElementType type) {
  constexpr double most = 65000;
  if (type != ElementType::f16) return true;
  for (const ir::Tensor& result : results) {
    for (int64_t i = 0; result.defined() && ir::is_float(result.type()) && i < result.size(); ++i)
      if (std::fabs(result.get_real(i)) > most) return false;
  }
  return true;
}

class WidenedKernels : public testing::TestWithParam<ElementType> {};

/// Kernels round their results once, and nothing on the way: so they are held to the expressions in f32.
/// Where the one in 16 bits rounds nothing on the way either, it has to say the same.
TEST_P(WidenedKernels, GiveWhatTheExpressionsGive) {
  const ElementType type = GetParam();
  const double rounding = type == ElementType::bf16 ? 0x1p-8 : 0x1p-11;
  std::map<std::string, int> accepted;
  for (const GeneratorEntry& generator : all_generators()) {
    for (uint64_t k = 0; k < 12; ++k) {
      Random random(test_seed() + k);
      const Case narrow = converted(generator.draw(random), ElementType::f32, type);
      SCOPED_TRACE(fmt::format("seed {}: {}", test_seed() + k, narrow.describe()));
      const int threads = random.chance(50) ? 1 : 3;
      std::unique_ptr<StepUnderTest> step;
      try {
        step = std::make_unique<StepUnderTest>(narrow, threads);
      } catch (const Error&) {
        continue;  // not an operator on such floats
      } catch (const ir::NotYetKnown&) {
        continue;
      }
      const auto kernel = make_kernel(step->context());
      if (kernel == nullptr || kernel->describe().find("widened") == std::string::npos) continue;
      ++accepted[std::string(generator.op)];
      const Case wide = converted(narrow, type, ElementType::f32);
      const StepUnderTest reference(wide, threads);
      const std::vector<ir::Tensor> wanted = reference.evaluate(reference.programs());
      if (!are_in_range(wanted, type)) continue;
      const auto pool = ThreadPool::make(threads);
      const std::vector<ir::Tensor> results = step->run(*kernel, *pool);
      EXPECT_EQ(difference(results, wanted, rounding + narrow.tolerance), "") << kernel->describe();
      if (step->programs().size() == 1 && step->programs()[0].stages.size() == 1) {
        const std::vector<ir::Tensor> same = step->evaluate(step->programs());
        EXPECT_EQ(difference(results, same, 2 * rounding + narrow.tolerance), "") << kernel->describe();
      }
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
