#include "verify/stand_ins.h"

#include <gtest/gtest.h>

#include "ir/evaluate.h"
#include "ir/grammar.h"
#include "ir/loop/interpreter.h"
#include "tests/verify/gate_kernels.h"
#include "verify/gate_sizes.h"

namespace axrun::verify::test {
namespace {

/// A schedule of softmax_text; `last` is how many elements the sum leaves out.
std::string softmax_loops(const std::string& last) {
  return R"(loops softmax(n: 1..4096, c: 1..4096) {
  input x: f32[n, c]
  output y: f32[n, c]
  parallel i < n {
    allocate m: f32[] in registers
    m[] = -inf:f32
    for r < c { m[] max= x[i, r] computes m(i, r) inverse(x0, x1) }
    allocate s: f32[] in registers
    s[] = 0:f32
    for r < c - )" +
         last + R"( { s[] += exp(sub(x[i, r], m[])) computes s(i, r) inverse(x0, x1) }
    for j < c { y[i, j] = div(exp(sub(x[i, j], m[])), s[]) computes y(i, j) inverse(x0, x1) }
  }
})";
}

/// A loop program as a candidate: its interpreter, in f32.
GateCandidate interpreted(const ir::loop::LoopProgram& program) {
  return [program](const GateCall& call) {
    const ir::Shape shape = {call.sizes.at("n"), call.sizes.at("c")};
    const ir::Tensor x =
        ir::Tensor::borrow(ir::ElementType::f32, shape, const_cast<void*>(call.operands[0])).clone();
    const ir::loop::Outcome outcome = ir::loop::interpret(program, call.sizes, {x});
    ASSERT_FALSE(outcome.mistake) << outcome.text;
    std::copy_n(outcome.outputs[0].as<float>(), x.size(), static_cast<float*>(call.results[0]));
  };
}

GateOptions options() {
  GateOptions options;
  options.sizes =
      sizes_to_try(ir::parse(softmax_text), {{"n", 1, 9, 1}, {"c", 1, 40, 1}}, {{"n", 3}, {"c", 20}}).sizes;
  return options;
}

TEST(StandIns, MakeValidPrograms) {
  for (const std::string text : {product_text, softmax_text, layer_norm_text, gelu_text, mask_text})
    EXPECT_TRUE(ir::violations(with_stand_ins(ir::parse(text))).empty()) << text;
  const ir::loop::LoopProgram loops = ir::loop::parse(softmax_loops("0"));
  EXPECT_TRUE(ir::loop::violations(with_stand_ins(loops)).empty());
}

TEST(StandIns, MakeEverythingExact) {
  for (const std::string text : {softmax_text, gelu_text, mask_text}) {
    const ir::Program program = with_stand_ins(ir::parse(text));
    EXPECT_EQ(ir::print(program).find("exp("), std::string::npos);
    EXPECT_EQ(ir::print(program).find(" / "), std::string::npos);
  }
  const ir::Program expression = ir::parse(softmax_text);
  const ir::loop::LoopProgram loops = ir::loop::parse(softmax_loops("0"));
  GateReport report;
  const Evidence evidence =
      test_numerically(with_stand_ins(expression), interpreted(with_stand_ins(loops)), options(), &report);
  EXPECT_EQ(evidence.verdict, Verdict::tested) << evidence.text;
  GateOptions probes = options();
  probes.only_trial = 0;
  test_numerically(with_stand_ins(expression), interpreted(with_stand_ins(loops)), probes, &report);
  EXPECT_EQ(report.exact_elements, report.elements);
  EXPECT_GT(report.elements, 0);
  test_numerically(expression, interpreted(loops), probes, &report);
  EXPECT_LT(report.exact_elements, report.elements);
}

TEST(StandIns, PairsAreTestedBesideTheCandidate) {
  const ir::Program expression = ir::parse(softmax_text);
  const ir::loop::LoopProgram right = ir::loop::parse(softmax_loops("0"));
  const ir::loop::LoopProgram wrong = ir::loop::parse(softmax_loops("1"));
  GateOptions gate = options();
  gate.exact_pair = GateOptions::Pair{with_stand_ins(expression), interpreted(with_stand_ins(right))};
  EXPECT_EQ(test_numerically(expression, interpreted(right), gate).verdict, Verdict::tested);
  gate.exact_pair->candidate = interpreted(with_stand_ins(wrong));
  const Evidence evidence = test_numerically(expression, interpreted(right), gate);
  EXPECT_EQ(evidence.verdict, Verdict::refuted);
  EXPECT_NE(evidence.text.find("trial 16"), std::string::npos) << evidence.text;
}

}  // namespace
}  // namespace axrun::verify::test
