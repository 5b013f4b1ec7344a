// Runs that end early: cancelled from another thread, or at a deadline, in plans, bodies and the reference.
#include "runtime/run_control.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;
using runtime::RunControl;
using runtime::RunEnded;
using runtime::RuntimeValue;
using runtime::Tier;
using Clock = RunControl::Clock;

/// Products one after another, some seconds of them on any machine, none long by itself.
ModelMaker long_chain() {
  ModelMaker m;
  auto value = m.input("x", ElementType::f32, {256, 256});
  Tensor mean = Tensor::allocate(ElementType::f32, {256, 256});
  std::fill_n(static_cast<float*>(mean.data()), mean.size(), 1.0f / 256);
  const auto weights = m.constant(mean);
  for (int k = 0; k < 4000; ++k) value = m.node("MatMul", {value, weights});
  m.output(value);
  return m;
}

std::unique_ptr<runtime::Session> session_of(const ModelMaker& model, Tier tier) {
  runtime::SessionOptions options;
  options.tier = tier;
  options.threads = 1;
  options.optimize = false;
  return model.session(options);
}

RunEnded::Why ended(const std::function<void()>& run) {
  try {
    run();
  } catch (const RunEnded& end) {
    return end.why();
  }
  ADD_FAILURE() << "the run went on to its end";
  return RunEnded::Why::cancelled;
}

TEST(RunControl, ACancelledRunEndsSoonAndTheSessionServesOn) {
  const auto session = session_of(long_chain(), Tier::fallback);
  const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({256, 256}, 1))};
  const auto whole = session->run(inputs);
  RunControl control;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    control.cancel();
  });
  EXPECT_EQ(ended([&] { session->run(inputs, &control); }), RunEnded::Why::cancelled);
  other.join();
  EXPECT_EQ(ended([&] { session->run(inputs, &control); }), RunEnded::Why::cancelled) << "until it is reset";
  control.reset();
  const auto again = session->run(inputs, &control);
  EXPECT_EQ(again[0].tensor.get_real(17), whole[0].tensor.get_real(17));
}

TEST(RunControl, ADeadlineEndsRunsOfEveryTier) {
  const ModelMaker model = long_chain();
  const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({256, 256}, 1))};
  for (const Tier tier : {Tier::reference, Tier::fallback, Tier::automatic}) {
    const auto session = session_of(model, tier);
    RunControl control;
    control.set_deadline(Clock::now() + std::chrono::milliseconds(5));
    EXPECT_EQ(ended([&] { session->run(inputs, &control); }), RunEnded::Why::deadline);
    control.set_deadline(Clock::now() - std::chrono::seconds(1));
    std::vector<Tensor> outputs;
    EXPECT_EQ(ended([&] { session->run_into({inputs[0].tensor}, outputs, &control); }),
              RunEnded::Why::deadline);
  }
}

TEST(RunControl, OneThatSaysNothingChangesNothing) {
  const ModelMaker model = residual_network(2);
  const auto session = session_of(model, Tier::fallback);
  const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({2, 3, 12, 12}, 9))};
  RunControl control;
  control.set_deadline(Clock::now() + std::chrono::hours(1));
  const auto with = session->run(inputs, &control), without = session->run(inputs);
  ASSERT_EQ(with[0].tensor.size(), without[0].tensor.size());
  for (int64_t k = 0; k < with[0].tensor.size(); ++k)
    EXPECT_EQ(with[0].tensor.get_real(k), without[0].tensor.get_real(k));
}

/// What interpreters need to handle an interrupt while the model runs.
TEST(RunControl, ALongRunAsksWhetherItGoesOn) {
  for (const Tier tier : {Tier::fallback, Tier::reference}) {
    const auto session = session_of(long_chain(), tier);
    const std::vector<RuntimeValue> inputs = {RuntimeValue(ModelMaker::random({256, 256}, 1))};
    int asked = 0;
    runtime::RunPoll poll;
    poll.set([](void* context) { return ++*static_cast<int*>(context) == 2 ? 1 : 0; }, &asked);
    RunControl control;
    control.set_poll(&poll);
    const Clock::time_point start = Clock::now();
    poll.begin();
    EXPECT_EQ(ended([&] {
                for (;;) session->run(inputs, &control);
              }),
              RunEnded::Why::cancelled);
    EXPECT_EQ(asked, 2);
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(180));
  }
}

/// Nobody is asked in the first tenth of a second, nor by a run that the question itself makes.
TEST(RunControl, ShortRunsAskNobody) {
  int asked = 0;
  runtime::RunPoll poll;
  poll.set([](void* context) { return ++*static_cast<int*>(context); }, &asked);
  poll.begin();
  EXPECT_FALSE(poll.wants_end());
  EXPECT_EQ(asked, 0);
  struct Nested {
    runtime::RunPoll poll;
    bool inner = true;
  } nested;
  nested.poll.set(
      [](void* context) {
        return (static_cast<Nested*>(context)->inner = static_cast<Nested*>(context)->poll.wants_end()) ? 1
                                                                                                        : 0;
      },
      &nested);
  EXPECT_FALSE(nested.poll.wants_end());
  EXPECT_FALSE(nested.inner);
}

}  // namespace
}  // namespace axrun::tests
