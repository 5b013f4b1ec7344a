// What the records say that kernels do, beside what the plan in force does.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/plan/plan.h"
#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::ValueId;

ValueId convolution(ModelMaker& m, ValueId x, int64_t channels, uint64_t seed) {
  return m.node("Conv", {x, m.weights({channels, channels, 3, 3}, seed), m.weights({channels}, seed + 1)},
                {{"kernel_shape", ModelMaker::attribute(std::vector<int64_t>{3, 3})},
                 {"pads", ModelMaker::attribute(std::vector<int64_t>{1, 1, 1, 1})}});
}

/// Something for every part of the optimiser: joints, layouts, and a pool that can go before its Relu.
ModelMaker model_of(const ir::Dim& batch) {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {batch, 8, 16, 16});
  const ValueId stem = m.node("Relu", {convolution(m, x, 8, 1)});
  const ValueId sum = m.node("Add", {convolution(m, stem, 8, 3), stem});
  const ValueId pool = m.node("MaxPool", {m.node("Relu", {sum})},
                              {{"kernel_shape", ModelMaker::attribute(std::vector<int64_t>{2, 2})},
                               {"strides", ModelMaker::attribute(std::vector<int64_t>{2, 2})}});
  const ValueId last = m.node("Relu", {convolution(m, pool, 8, 5)});
  const ValueId scores =
      m.node("Gemm", {m.node("Flatten", {m.node("GlobalAveragePool", {last})}), m.weights({8, 10}, 7)});
  m.output(m.node("Softmax", {scores}));
  return m;
}

Values input(int64_t batch) { return {RuntimeValue(ModelMaker::random({batch, 8, 16, 16}, 9))}; }

/// Every step of these plans is in one record, by the name of its first node and its operators; no record has
/// steps that are in none of them.
void expect_accounts(Session& session, const std::vector<std::vector<ir::Shape>>& all) {
  const OptimizerStatus status = session.optimizer_status();
  double shares = 0;
  int steps = 0;
  for (const OptimizedKernel& kernel : status.kernels) {
    shares += kernel.share;
    steps += kernel.steps;
  }
  int there = 0;
  for (const std::vector<ir::Shape>& shapes : all) {
    const auto plan = session.current_plan(shapes);
    ASSERT_NE(plan, nullptr);
    there += static_cast<int>(plan->steps().size());
    for (const Step& step : plan->steps()) {
      const auto records =
          std::count_if(status.kernels.begin(), status.kernels.end(), [&](const OptimizedKernel& kernel) {
            return kernel.steps > 0 && kernel.ops == step.work->ops &&
                   std::find(kernel.nodes.begin(), kernel.nodes.end(), step.work->node->name) !=
                       kernel.nodes.end();
          });
      EXPECT_GE(records, 1) << step.work->ops << " of " << step.work->node->name << "\n" << text_of(status);
    }
  }
  if (all.size() > 1) return;
  EXPECT_EQ(steps, there) << text_of(status);
  EXPECT_EQ(steps, status.steps) << text_of(status);
  EXPECT_NEAR(shares, 1, 1e-6) << text_of(status);
}

class Accounts : public testing::TestWithParam<const char*> {};

TEST_P(Accounts, RecordsHaveTheStepsOfThePlanInForce) {
  const Knobs knobs{{"AXRUN_SWAP", GetParam()}};
  SessionOptions options;
  options.threads = 1;
  const auto session = model_of(1).session(options);
  for (int k = 0; k < 40; ++k) session->run(input(1));
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  expect_accounts(*session, {{{1, 8, 16, 16}}});
}

TEST_P(Accounts, OfSeveralShapesAsWell) {
  const Knobs knobs{{"AXRUN_SWAP", GetParam()}};
  SessionOptions options;
  options.threads = 1;
  const auto session = model_of(ir::Dim::symbol("batch")).session(options);
  for (const int64_t batch : {1, 2}) {
    for (int k = 0; k < 20; ++k) session->run(input(batch));
    ASSERT_TRUE(session->wait_for_optimizer(patience));
  }
  expect_accounts(*session, {{{1, 8, 16, 16}}, {{2, 8, 16, 16}}});
}

INSTANTIATE_TEST_SUITE_P(Swaps, Accounts, testing::Values("faster", "always", "join", "layouts", "algebra"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace axrun::tests
