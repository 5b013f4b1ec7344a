#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "runtime/optimizer/plan_improver.h"
#include "runtime/session.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using std::chrono::milliseconds;

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;
  file >> size >> resident;
  return resident * 4096;
}

ModelMaker model() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {4, 32});
  ir::ValueId a = m.node("MatMul", {x, m.weights({32, 48}, 1)});
  a = m.node("Relu", {m.node("Add", {a, m.weights({48}, 2)})});
  a = m.node("MatMul", {a, m.weights({48, 8}, 3)});
  m.output(m.node("Softmax", {a}, {{"axis", ModelMaker::attribute(int64_t{-1})}}));
  return m;
}

/// The environment variable RUNS sets their number.
int64_t wanted_runs() {
  const char* text = std::getenv("RUNS");
  return text != nullptr ? std::atoll(text) : 3000;
}

TEST(SwapUnderLoad, EightThreadsAndASwapPerMillisecond) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  SessionOptions options;
  options.threads = 1;
  const auto session = model().session(options);
  const ir::Tensor input = ModelMaker::random({4, 32}, 9);
  const std::vector<ir::Shape> shapes = {input.shape()};
  const ir::Tensor want = session->run({RuntimeValue(input)})[0].tensor.clone();
  session->run({RuntimeValue(input)});  // with which the optimiser begins
  ASSERT_TRUE(session->wait_for_optimizer(120));
  const std::shared_ptr<const Plan> generated = session->current_plan(shapes);
  ASSERT_EQ(generated_steps(*generated), 3);

  const int64_t runs_wanted = wanted_runs();
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
  PlanOptions how;
  how.threads = 1;
  how.packs = std::make_shared<PackCache>();
  ir::ValueFact fact;
  fact.type = input.type();
  fact.dims = ir::to_dims(input.shape());
  const auto begin = std::chrono::steady_clock::now();
  auto next = begin;
  int64_t swaps = 0;
  int64_t resident_early = 0;
  while (runs < runs_wanted || swaps < 200) {
    // Generated kernels and fresh fallback plans in turn: those replaced have to be freed under the runs.
    session->publish(shapes, swaps % 2 == 0 ? build_plan(session->model().graph,
                                                         session->model().graph->inputs, {fact}, how)
                                            : generated);
    ++swaps;
    if (resident_early == 0 && runs > runs_wanted / 10 && swaps > 50) resident_early = resident_bytes();
    next += milliseconds(1);  // what building took is caught up on
    std::this_thread::sleep_until(next);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const int64_t resident_late = resident_bytes();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0) << "after " << runs << " runs and " << swaps << " swaps";
  EXPECT_LT(resident_late - resident_early, int64_t{8} << 20)
      << "after " << runs << " runs and " << swaps << " swaps";
  RecordProperty("runs", std::to_string(runs));
  RecordProperty("swaps", std::to_string(swaps));
  RecordProperty("resident_growth_bytes", std::to_string(resident_late - resident_early));
  if (std::getenv("RUNS") != nullptr) {
    std::printf(
        "%lld runs and %lld swaps in %.1f s, %lld wrong elements, %lld bytes more resident than after a "
        "tenth\n",
        static_cast<long long>(runs), static_cast<long long>(swaps), seconds, static_cast<long long>(wrong),
        static_cast<long long>(resident_late - resident_early));
  }
}

}  // namespace
}  // namespace axrun::tests
