// Steps of plans inside of plans: bodies of If, Loop and Scan, and what follows once a run knows shapes.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "runtime/optimizer/plan_tree.h"
#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/control_models.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using KernelState = OptimizedKernel::State;

void expect_answer(Session& session, const ModelMaker& model, const Values& inputs,
                   const std::string& where) {
  const auto reference = model.session(one_thread(Tier::fallback));
  const ir::Tensor want = reference->run(inputs)[0].tensor.clone();
  const ir::Tensor got = session.run(inputs)[0].tensor;
  ASSERT_EQ(got.shape(), want.shape()) << where;
  for (int64_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-5) << where << " element " << i;
  }
}

TEST(NestedPlans, BodiesRunGeneratedKernels) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ModelMaker model = choosing_model(6);
  const auto session = model.session(one_thread());
  for (int k = 0; k < 2; ++k) session->run(choosing(true, 6));
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_EQ(status.steps, 2) << text_of(status);
  EXPECT_EQ(status.swapped, 2) << text_of(status);
  double shares = 0, bodies = 0;
  for (const OptimizedKernel& kernel : status.kernels) {
    shares += kernel.share;
    if (kernel.ops == "If") {
      EXPECT_EQ(kernel.state, KernelState::refused);
      continue;
    }
    EXPECT_EQ(kernel.state, KernelState::accepted) << text_of(status);
    bodies += kernel.share;
  }
  EXPECT_NEAR(shares, 1, 1e-6) << text_of(status);
  EXPECT_GT(bodies, 0.2) << text_of(status);
  expect_answer(*session, model, choosing(true, 6), "the branch looked at");
  // The other branch has not run since: its steps wait for a run.
  expect_answer(*session, model, choosing(false, 6), "the other branch");
}

/// Both branches have been met: a plan is put in force with both of them made.
TEST(NestedPlans, NoRunHasToBuildWhatAPlanBeforeHad) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ModelMaker model = choosing_model(6);
  const auto session = model.session(one_thread());
  session->run(choosing(false, 6));
  session->run(choosing(true, 6));
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const Values inputs = choosing(true, 6);
  const auto plan = session->current_plan({{}, {6, 24}});
  ASSERT_TRUE(plan);
  const std::vector<NestedPlan> nested = plan->nested();
  ASSERT_EQ(nested.size(), 2u);
  for (const NestedPlan& one : nested) EXPECT_EQ(one.plan->steps().size(), 2u);
  EXPECT_EQ(generated_steps(*plan), 2) << text_of(session->optimizer_status());
  EXPECT_GT(plan->open_steps(), 0) << "of the branch that the optimiser has not seen";
  // With the runs that follow, the other branch gets its turn.
  for (int k = 0; k < 4; ++k) {
    for (int run = 0; run < 64; ++run) session->run(choosing(k % 2 == 0, 6));
    ASSERT_TRUE(session->wait_for_optimizer(patience));
  }
  EXPECT_EQ(generated_steps(*session->current_plan({{}, {6, 24}})), 4)
      << text_of(session->optimizer_status());
  expect_answer(*session, model, choosing(true, 6), "one branch");
  expect_answer(*session, model, choosing(false, 6), "the other branch");
}

TEST(NestedPlans, ABodyThatRunsOftenCountsEveryTime) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ModelMaker model = looping_model();
  const auto session = model.session(one_thread());
  for (int k = 0; k < 2; ++k) session->run(looping(50));
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_EQ(status.steps, 2) << "a product with what follows it, and a map";
  EXPECT_EQ(status.swapped, 2) << text_of(status);
  double shares = 0;
  for (const OptimizedKernel& kernel : status.kernels) shares += kernel.share;
  EXPECT_NEAR(shares, 1, 1e-6) << text_of(status);
  for (const int64_t trips : {1, 3, 7}) {
    expect_answer(*session, model, looping(trips), std::to_string(trips) + " trips");
  }
}

/// How often a layer steps is data: candidates are compared for lengths that a run had.
TEST(TreeTimes, KeepTheIntegersThatStepsRead) {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {6, 2, 4});
  const ValueId lengths = m.input("lengths", ElementType::i32, {2});
  const ValueId doubled = m.node("Add", {lengths, lengths});
  const std::vector<ValueId> inputs = {x, m.weights({1, 24, 4}, 1), m.weights({1, 24, 8}, 2), ir::absent,
                                       doubled};
  m.output(m.node("GRU", inputs, {{"hidden_size", ModelMaker::attribute(int64_t{8})}}));
  const auto session = m.session(one_thread(Tier::fallback));
  ir::Tensor given = ir::Tensor::allocate(ElementType::i32, {2});
  given.set_int(0, 3);
  given.set_int(1, 2);
  const Values live_in = {RuntimeValue(ModelMaker::random({6, 2, 4}, 9)), RuntimeValue(given)};
  std::vector<ir::ValueFact> facts(2);
  for (size_t k = 0; k < 2; ++k) {
    facts[k].type = live_in[k].tensor.type();
    facts[k].dims = ir::to_dims(live_in[k].tensor.shape());
  }
  const auto& graph = session->model().graph;
  PlanOptions options;
  options.packs = std::make_shared<PackCache>();
  const std::shared_ptr<const Plan> plan = build_plan(graph, graph->inputs, facts, options);
  const auto layer = std::find_if(plan->steps().begin(), plan->steps().end(),
                                  [](const Step& step) { return step.work->ops == "GRU"; });
  ASSERT_NE(layer, plan->steps().end());

  IntegersRead read;
  Values outputs(1);
  const StopSignal stop;
  const auto pool = ThreadPool::make(1);
  TreeTimes times(stop, &read);
  plan->run(live_in, outputs, {*pool, &times});
  EXPECT_EQ(read.size(), 2u) << "the lengths and their doubles, no floats";
  const ir::Tensor& kept = read.at({plan.get(), layer->work->inputs[4]});
  EXPECT_EQ(kept.get_int(0), 6);
  EXPECT_EQ(kept.get_int(1), 4);
}

TEST(NestedPlans, BodiesOfOpenSizesShareRangeKernels) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ModelMaker model = choosing_model(ir::Dim::symbol("rows"));
  const auto session = model.session(one_thread());
  for (int k = 0; k < 2; ++k) session->run(choosing(true, 5));
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus before = session->optimizer_status();
  EXPECT_EQ(before.swapped, 2) << text_of(before);
  for (const int64_t rows : {2, 9, 33}) {
    expect_answer(*session, model, choosing(true, rows), std::to_string(rows) + " rows");
    EXPECT_EQ(generated_steps(*session->current_plan({{}, {rows, 24}})), 2) << rows;
  }
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  EXPECT_EQ(session->optimizer_status().tried, before.tried);
}

/// What a run tells decides which elements are taken, not how many: no kernel may serve both.
TEST(NestedPlans, ContinuationsAreKnownByWhatTheyWereMadeFor) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ModelMaker model = slicing_model();
  const auto session = model.session(one_thread());
  for (int round = 0; round < 3; ++round) {
    for (const int64_t start : {0, 3, 12}) {
      for (int k = 0; k < 8; ++k) session->run(slicing(start));
      ASSERT_TRUE(session->wait_for_optimizer(patience));
      expect_answer(*session, model, slicing(start), "from column " + std::to_string(start));
    }
  }
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_GT(status.swapped, 0) << text_of(status);
  EXPECT_EQ(status.swapped, status.steps) << text_of(status);
}

/// Only what decides shapes is part of what they are made for, however small the rest is.
TEST(NestedPlans, OtherDataIsNoOtherContinuation) {
  const ModelMaker model = slicing_model();
  const auto session = model.session(one_thread(Tier::fallback));
  for (const uint64_t seed : {1, 2, 3}) expect_answer(*session, model, slicing(3, seed), "column 3");
  const auto plan = session->current_plan({{8, 16}, {1}});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->nested().size(), 1U);
  expect_answer(*session, model, slicing(5), "column 5");
  EXPECT_EQ(plan->nested().size(), 2U);
}

TEST(NestedPlans, DeterministicBodiesKeepTheirBits) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  SessionOptions options = one_thread();
  options.deterministic = true;
  const auto session = looping_model().session(options);
  const ir::Tensor first = session->run(looping(20))[0].tensor.clone();
  session->run(looping(20));
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const ir::Tensor later = session->run(looping(20))[0].tensor;
  EXPECT_EQ(std::memcmp(first.data(), later.data(), first.bytes()), 0);
}

TEST(NestedPlans, AFrozenSessionKeepsItsBodies) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const auto session = looping_model().session(one_thread());
  session->freeze();
  for (int k = 0; k < 8; ++k) session->run(looping(3));
  EXPECT_EQ(generated_steps(*session->current_plan({{}, {8, 8}})), 0);
}

TEST(NestedPlans, BodiesAreSwappedUnderTraffic) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const ModelMaker model = choosing_model(6);
  const auto session = model.session(one_thread());
  const Values inputs[] = {choosing(true, 6, 1), choosing(false, 6, 2)};
  ir::Tensor want[2];
  for (int k = 0; k < 2; ++k) want[k] = session->run(inputs[k])[0].tensor.clone();
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int run = t; !stop; ++run) {
        const ir::Tensor got = session->run(inputs[run % 2])[0].tensor;
        for (int64_t i = 0; i < got.size(); ++i) {
          if (!(std::fabs(got.get_real(i) - want[run % 2].get_real(i)) <= 1e-5)) ++wrong;
        }
      }
    });
  }
  const auto all_swapped = [&] { return generated_steps(*session->current_plan({{}, {6, 24}})) == 4; };
  for (int k = 0; k < 6000 && !all_swapped(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(all_swapped()) << text_of(session->optimizer_status());
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace axrun::tests
