// Windows and the sum of products that reads them as one kernel, against the reference interpreter.
#include <gtest/gtest.h>

#include <algorithm>

#include "jit/kernel_code.h"
#include "tests/search/chained_windows_cases.h"
#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

class ChainedWindowsKinds : public testing::TestWithParam<Case> {};

TEST_P(ChainedWindowsKinds, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, ChainedWindowsKinds, testing::ValuesIn(chained_windows_cases()),
                         [](const auto& info) { return info.param.name; });

/// Groups of lines: what is kept of the windows does not grow with their number.
TEST(ChainedWindowsScratch, HoldsTheLinesOfAGroup) {
  const std::vector<bool> constant = {false, true, true, true, true};
  constexpr int64_t channels = 32, width = 64, most_lines = 32;
  for (const jit::Target& target : targets_with_code()) {
    for (const int64_t height : {64, 300, 1024}) {
      const ChainedWindows tall{"tall", {}, channels, 8, height, width};
      const search::Lowered lowered = search::lower(program_of(tall), {}, constant, target);
      ASSERT_EQ(lowered.kind, "chained windows");
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      EXPECT_LT(jit::BoundKernel(code, {}, constant).scratch_bytes(1),
                static_cast<size_t>(channels * width * most_lines) * sizeof(float));
    }
  }
}

}  // namespace
}  // namespace axrun::tests
