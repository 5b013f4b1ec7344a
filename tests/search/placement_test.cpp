// Places that are known before, as machine code.
#include <gtest/gtest.h>

#include "tests/search/machine_code.h"
#include "tests/search/placement_cases.h"

namespace axrun::tests {
namespace {

class Placements : public testing::TestWithParam<Case> {};

TEST_P(Placements, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, Placements, testing::ValuesIn(placement_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
