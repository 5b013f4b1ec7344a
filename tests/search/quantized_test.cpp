#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/search/machine_code.h"
#include "tests/search/quantized_cases.h"
#include "verify/loop_proof.h"
#include "verify/rewrite_proof.h"

namespace axrun::tests {
namespace {

class Quantized : public testing::TestWithParam<Case> {};

TEST_P(Quantized, IsComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Convolutions, Quantized, testing::ValuesIn(quantized_cases()),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(Bytes, Quantized, testing::ValuesIn(byte_cases()),
                         [](const auto& info) { return info.param.name; });

class BytesTimesBytes : public testing::TestWithParam<Case> {};

TEST_P(BytesTimesBytes, AreProved) {
  const Case& c = GetParam();
  for (const bool bytes : {true, false}) {
    const jit::Target target = bytes ? with_byte_products() : avx512_like();
    const ir::Program expression = c.make();
    const search::Lowered lowered = search::lower(expression, c.sizes, c.constant, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    EXPECT_EQ(lowered.kind, bytes ? c.kind : c.kind.substr(std::string("rows+").size())) << ir::print(lowered.expression);
    const verify::Evidence same = verify::prove_rewrite(expression, lowered.expression, c.sizes);
    EXPECT_EQ(name_of(same.verdict), "proved") << same.text << '\n' << ir::print(lowered.expression);
    const verify::Evidence loops = verify::prove(*lowered.program, lowered.expression);
    EXPECT_EQ(name_of(loops.verdict), "proved") << loops.text << '\n' << ir::loop::print(*lowered.program);
  }
}

INSTANTIATE_TEST_SUITE_P(Convolutions, BytesTimesBytes, testing::ValuesIn(byte_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace axrun::tests
