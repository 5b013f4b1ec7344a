#include <gtest/gtest.h>

#include "tests/search/machine_code.h"
#include "tests/search/quantized_cases.h"

namespace axrun::tests {
namespace {

class Quantized : public testing::TestWithParam<Case> {};

TEST_P(Quantized, IsComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Convolutions, Quantized, testing::ValuesIn(quantized_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
