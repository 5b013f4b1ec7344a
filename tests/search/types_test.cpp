#include <gtest/gtest.h>

#include "tests/search/machine_code.h"
#include "tests/search/type_cases.h"

namespace axrun::tests {
namespace {

class Types : public testing::TestWithParam<Case> {};

TEST_P(Types, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, Types, testing::ValuesIn(type_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
