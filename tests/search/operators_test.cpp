// ONNX's operators as machine code, against the reference interpreter.
#include <gtest/gtest.h>

#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

class EveryOperator : public testing::TestWithParam<Case> {};

TEST_P(EveryOperator, IsComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Operators, EveryOperator, testing::ValuesIn(operator_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
