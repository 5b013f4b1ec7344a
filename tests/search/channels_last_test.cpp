// Values that lie channels-last, as machine code, against the reference interpreter.
#include <gtest/gtest.h>

#include "tests/search/channels_last_cases.h"
#include "tests/search/machine_code.h"

namespace axrun::tests {
namespace {

class EveryChannelsLast : public testing::TestWithParam<Case> {};

TEST_P(EveryChannelsLast, IsComputedAsTheExpressionSays) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(ChannelsLast, EveryChannelsLast, testing::ValuesIn(channels_last_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
