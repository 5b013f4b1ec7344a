#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/plan/plan.h"
#include "runtime/session.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using runtime::Plan;
using runtime::PlanOptions;
using runtime::RuntimeValue;

std::shared_ptr<const Plan> plan_of(const runtime::Session& session, const ir::Tensor& input, bool fuse,
                                    bool reuse) {
  PlanOptions options;
  options.fuse = fuse;
  options.reuse_buffers = reuse;
  options.threads = session.threads();
  options.packs = std::make_shared<runtime::PackCache>();
  ir::ValueFact fact;
  fact.type = input.type();
  fact.dims = ir::to_dims(input.shape());
  return runtime::build_plan(session.model().graph, session.model().graph->inputs, {fact}, options);
}

TEST(PlanSwap, PlansOfDifferentLayoutsUnderEightThreads) {
  runtime::SessionOptions options;
  options.threads = 1;
  const auto session = residual_network(2).session(options);
  const ir::Tensor input = ModelMaker::random({2, 3, 12, 12}, 9);
  const std::vector<RuntimeValue> inputs = {RuntimeValue(input)};
  const ir::Tensor want = session->run(inputs)[0].tensor.clone();

  const auto compact = plan_of(*session, input, true, true);
  const auto spread = plan_of(*session, input, false, false);
  ASSERT_NE(compact->arena_bytes(), spread->arena_bytes());
  ASSERT_NE(compact->steps().size(), spread->steps().size());

  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0}, runs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      std::vector<ir::Tensor> outputs = {ir::Tensor::allocate(ir::ElementType::f32, want.shape())};
      while (!stop) {
        session->run_into({input}, outputs);
        ++runs;
        for (int64_t i = 0; i < want.size(); ++i) {
          if (!(std::fabs(outputs[0].get_real(i) - want.get_real(i)) <= 1e-5)) ++wrong;
        }
      }
    });
  }
  int swaps = 0;
  const std::vector<ir::Shape> shapes = {input.shape()};
  while (runs < 2000 || swaps < 200) {
    // A fresh plan every time, so that the replaced ones have to be freed under the runs.
    session->publish(shapes, plan_of(*session, input, swaps % 2 == 0, swaps % 2 == 0));
    ++swaps;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << "after " << runs << " runs and " << swaps << " swaps";
}

TEST(PlanSwap, ReplacedPlansAreFreed) {
  runtime::SessionOptions options;
  options.threads = 1;
  const auto session = residual_network(2).session(options);
  const ir::Tensor input = ModelMaker::random({2, 3, 12, 12}, 9);
  session->run({RuntimeValue(input)});
  std::weak_ptr<const Plan> first = session->current_plan({input.shape()});
  ASSERT_FALSE(first.expired());
  session->publish({input.shape()}, plan_of(*session, input, false, true));
  session->run({RuntimeValue(input)});
  EXPECT_TRUE(first.expired());
}

}  // namespace
}  // namespace axrun::tests
