// Products and the windows that move over them as one kernel, against the reference interpreter.
#include <gtest/gtest.h>

#include "jit/kernel_code.h"
#include "tests/search/chained_product_cases.h"
#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

class ChainedProducts : public testing::TestWithParam<Case> {};

TEST_P(ChainedProducts, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, ChainedProducts, testing::ValuesIn(chained_product_cases()),
                         [](const auto& info) { return info.param.name; });

/// Blocks of channels: what is kept of the product does not grow with their number.
TEST(ChainedProductScratch, HoldsAFewChannels) {
  const std::vector<bool> constant = {false, true, true, true};
  for (jit::Target target : targets_with_code()) {
    // What blocks fill: the same everywhere.
    if (target.caches.size() > 1) target.caches[1].bytes = int64_t{512} << 10;
    const auto scratch = [&](int64_t channels) {
      const ChainedProduct wide{"wide", {}, 4, channels, 32, 64};
      const search::Lowered lowered = search::lower(program_of(wide), {}, constant, target);
      EXPECT_EQ(lowered.kind, "chained product");
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      return jit::BoundKernel(code, {}, constant).scratch_bytes(1);
    };
    EXPECT_EQ(scratch(24 * 8), scratch(24 * 64));
  }
}

}  // namespace
}  // namespace axrun::tests
