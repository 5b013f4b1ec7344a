// Factors per channel behind a product are multiplied in its epilogue. No weights are changed for them:
// programs that fold them are discovered, proved and measured, or are not run.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/plan/packed.h"
#include "runtime/plan/plan.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

struct PlanMade {
  size_t steps = 0;
  size_t packed_bytes = 0;
};

PlanMade make_plan(const ModelMaker& maker, const ir::Shape& input) {
  const auto session = maker.session(one_thread());
  runtime::PlanOptions options;
  options.packs = std::make_shared<runtime::PackCache>();
  ir::ValueFact fact;
  fact.type = ir::ElementType::f32;
  fact.dims = ir::to_dims(input);
  const auto plan =
      runtime::build_plan(session->model().graph, session->model().graph->inputs, {fact}, options);
  return {plan->steps().size(), options.packs->bytes()};
}

ir::ValueId normalized(ModelMaker& m, ir::ValueId value, int64_t channels) {
  ir::Tensor variance = ModelMaker::random({channels}, 14);
  for (int64_t i = 0; i < channels; ++i) variance.as<float>()[i] = 1.0f + std::fabs(variance.as<float>()[i]);
  return m.node("BatchNormalization", {value, m.weights({channels}, 11), m.weights({channels}, 12),
                                       m.weights({channels}, 13), m.constant(variance)});
}

TEST(ChannelFactors, OfAConvolutionLeaveItsWeightsAsTheyAre) {
  const ir::Shape shape = {1, 3, 12, 12};
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, ir::to_dims(shape));
  const ir::ValueId weights = m.weights({8, 3, 3, 3}, 1);
  m.output(m.node("Conv", {x, weights}));
  const PlanMade plain = make_plan(m, shape);
  m.output(normalized(m, m.node("Conv", {x, weights}), 8));
  const PlanMade both = make_plan(m, shape);
  EXPECT_EQ(both.steps, plain.steps + 1) << "the factor belongs into the convolution's step";
  EXPECT_EQ(both.packed_bytes, plain.packed_bytes) << "the same weights were packed twice";
}

TEST(ChannelFactors, OfAProductLeaveItsWeightsAsTheyAre) {
  const ir::Shape shape = {5, 16};
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, ir::to_dims(shape));
  const ir::ValueId weights = m.weights({16, 24}, 1);
  m.output(m.node("MatMul", {x, weights}));
  const PlanMade plain = make_plan(m, shape);
  m.output(m.node("Mul", {m.node("MatMul", {x, weights}), m.weights({24}, 2)}));
  const PlanMade both = make_plan(m, shape);
  EXPECT_EQ(both.steps, plain.steps + 1) << "the factor belongs into the product's step";
  EXPECT_EQ(both.packed_bytes, plain.packed_bytes) << "the same weights were packed twice";
}

TEST(ChannelFactors, OfAProductOfTwoVariablesBelongIntoItsStep) {
  const ir::Shape shape = {2, 5, 5};
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, ir::to_dims(shape));
  m.output(m.node("Mul", {m.node("MatMul", {x, x}), m.constant(ModelMaker::random({}, 3))}));
  EXPECT_EQ(make_plan(m, shape).steps, 1u);
}

}  // namespace
}  // namespace axrun::tests
