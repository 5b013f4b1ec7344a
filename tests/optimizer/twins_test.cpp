// Steps of a plan that serve in a rewritten graph, too.
#include "runtime/optimizer/twins.h"

#include <gtest/gtest.h>

#include "runtime/plan/plan_builder.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;

TEST(TwinsOfSteps, AreThoseWhoseInnerResultsNobodyElseReads) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ElementType::f32, {4, 64});
  const ir::ValueId inner = m.node("Relu", {x});
  m.output(m.node("Mul", {inner, m.weights({64}, 1)}));
  SessionOptions options;
  options.threads = 1;
  options.tier = Tier::fallback;
  const auto session = m.session(options);
  session->prepare({{4, 64}});
  const auto plan = session->current_plan({{4, 64}});
  ASSERT_EQ(plan->steps().size(), 1u);
  ASSERT_EQ(plan->steps()[0].work->nodes.size(), 2u) << "no step of two nodes";

  ir::Graph other = plan->graph();
  ASSERT_EQ(twins_in(*plan, other).size(), 1u);
  EXPECT_EQ(twins_in(*plan, other)[0].others, plan->steps()[0].work->nodes);

  const ir::ValueId read =
      plan->graph().nodes[static_cast<size_t>(plan->steps()[0].work->nodes[0])].outputs[0];
  ir::Node reader;
  reader.name = "reader";
  reader.op = "Neg";
  reader.version = 13;
  reader.inputs = {read};
  reader.outputs = {other.add_value({})};
  other.nodes.push_back(reader);
  EXPECT_TRUE(twins_in(*plan, other).empty());
}

/// As a conversion between layouts has that of the step it belongs to.
TEST(TwinsOfSteps, AreFoundWhereNodesHaveOneName) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ElementType::f32, {4, 64});
  m.output(m.node("Softmax", {m.node("Relu", {x})}));
  SessionOptions options;
  options.threads = 1;
  options.tier = Tier::fallback;
  const auto session = m.session(options);
  session->prepare({{4, 64}});
  const auto model = session->current_plan({{4, 64}});
  const auto named = std::make_shared<ir::Graph>(model->graph());
  for (ir::Node& node : named->nodes) node.name = "same";
  const auto plan = build_like(*model, named, nullptr);
  ASSERT_EQ(plan->steps().size(), 2u);
  EXPECT_EQ(twins_in(*plan, *named).size(), 2u);
}

}  // namespace
}  // namespace axrun::tests
