// Sums over channels and windows as machine code, against the reference interpreter.
#include <gtest/gtest.h>

#include "tests/search/convolution_cases.h"
#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

class EveryConvolution : public testing::TestWithParam<Case> {};

TEST_P(EveryConvolution, IsComputedAsTheExpressionSays) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Convolutions, EveryConvolution, testing::ValuesIn(convolution_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
