// Products, windows over them and the sums that read these as one kernel, against the reference interpreter.
#include <gtest/gtest.h>

#include "jit/kernel_code.h"
#include "tests/search/inverted_residual_cases.h"
#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

class InvertedResiduals : public testing::TestWithParam<Case> {};

TEST_P(InvertedResiduals, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, InvertedResiduals, testing::ValuesIn(inverted_residual_cases()),
                         [](const auto& info) { return info.param.name; });

/// Groups of lines: neither what is kept of the product nor of the windows grows with their number.
TEST(InvertedResidualScratch, HoldsTheLinesOfAGroup) {
  const std::vector<bool> constant = {false, true, true, true, true, true, true};
  constexpr int64_t channels = 32, width = 64, most_lines = 64;
  for (const jit::Target& target : targets_with_code()) {
    for (const int64_t height : {64, 300, 1024}) {
      const InvertedResidual tall{
          .name = "tall", .inputs = 8, .channels = channels, .filters = 8, .height = height, .width = width};
      const search::Lowered lowered = search::lower(program_of(tall), {}, constant, target);
      ASSERT_EQ(lowered.kind, "inverted residual");
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      EXPECT_LT(jit::BoundKernel(code, {}, constant).scratch_bytes(1),
                static_cast<size_t>(channels * width * most_lines) * sizeof(float));
    }
  }
}

}  // namespace
}  // namespace axrun::tests
