#include "verify/loop_proof.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "tests/verify/loop_cases.h"

namespace axrun::tests {
namespace {

using verify::Evidence;
using verify::Verdict;

Evidence prove(const std::string& program, const std::string& expression) {
  return verify::prove(ir::loop::parse(program), ir::parse(expression));
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

class ValidLoops : public testing::TestWithParam<LoopCase> {};

TEST_P(ValidLoops, AreProved) {
  const Evidence evidence = prove(GetParam().program, GetParam().expression);
  EXPECT_EQ(evidence.verdict, Verdict::proved) << evidence.text;
  RecordProperty("evidence", evidence.text);
}

INSTANTIATE_TEST_SUITE_P(LoopProof, ValidLoops, testing::ValuesIn(loop_cases()),
                         [](const auto& test) { return test.param.name; });

struct Wrong {
  const char* of;
  const char* from;
  const char* to;
};

TEST(LoopProof, WrongProgramsAreRefuted) {
  const Wrong wrongs[] = {
      {"dense", "parallel i0 step 6 < m", "parallel i0 step 5 < m"},
      {"dense", "tile[i1, j1] = 0:f32", "tile[i1, j1] = 1:f32"},
      {"dense", "for p < k", "for p < k - 1"},
      {"dense", "for p < k", "parallel p < k"},
      {"dense", "max(add(tile[i1, j1], bias[j0 + j1]), 0:f32)",
       "add(max(tile[i1, j1], 0:f32), bias[j0 + j1])"},
      {"dense", "bias[j0 + j1]", "bias[j1]"},
      {"dense", "panel[q, r] = b[q, j0 + r]", "panel[q, r] = b[q, r]"},
      {"softmax", "exp(sub(x[i, 8*t + v], m[]))", "exp(sub(x[i, 8*t + v], highest[v]))"},
      {"softmax", "vector w < 8 { s[] += acc[w] }", "vector w < 7 { s[] += acc[w] }"},
      {"edges", "for p0 < k / 4", "for p0 < k / 8"},
      {"edges", "min(4, m - 4*it)", "4"},
      {"window", "x[i + w - 1]", "x[i + w - 2]"},
      {"maximum", "y[i, j] = x[i, 2*j]", "y[i, j] = 0:f32"},
  };
  for (const Wrong& wrong : wrongs) {
    const LoopCase& valid = loop_case(wrong.of);
    const Evidence evidence = prove(changed(valid.program, wrong.from, wrong.to), valid.expression);
    EXPECT_EQ(evidence.verdict, Verdict::refuted) << wrong.of << ": " << wrong.to << ": " << evidence.text;
  }
}

}  // namespace
}  // namespace axrun::tests
