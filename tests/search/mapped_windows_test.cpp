// Maps and the windows that move over them, plane by plane, against the reference interpreter.
#include <gtest/gtest.h>

#include "jit/kernel_code.h"
#include "tests/search/machine_code.h"
#include "tests/search/mapped_windows_cases.h"

namespace axrun::tests {
namespace {

class MappedWindowsOfEveryForm : public testing::TestWithParam<Case> {};

TEST_P(MappedWindowsOfEveryForm, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, MappedWindowsOfEveryForm, testing::ValuesIn(mapped_windows_cases()),
                         [](const auto& info) { return info.param.name; });

/// One plane is kept, however many there are.
TEST(MappedWindowsScratch, HoldsOnePlane) {
  const std::vector<bool> constant = {false, true, true};
  for (const jit::Target& target : targets_with_code()) {
    const auto scratch = [&](int64_t channels) {
      const MappedWindows mapped{
          .name = "planes", .channels = channels, .height = 40, .width = 41, .bytes = false};
      const search::Lowered lowered = search::lower(program_of(mapped), {}, constant, target);
      EXPECT_EQ(lowered.kind, "mapped windows");
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      return jit::BoundKernel(code, {}, constant).scratch_bytes(1);
    };
    EXPECT_EQ(scratch(40), scratch(400));
  }
}

}  // namespace
}  // namespace axrun::tests
