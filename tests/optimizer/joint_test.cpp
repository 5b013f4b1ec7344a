// Steps that become one where one kernel does what both did.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <thread>

#include "runtime/optimizer/optimizer.h"
#include "runtime/optimizer/plan_tree.h"
#include "runtime/plan/joints.h"
#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::ValueId;

ModelMaker model_of(const std::function<ValueId(ModelMaker& m, ValueId x)>& body, const ir::Dims& dims) {
  ModelMaker m;
  m.output(body(m, m.input("x", ElementType::f32, dims)));
  return m;
}

ValueId normalized(ModelMaker& m, ValueId x) {
  return m.node("LayerNormalization", {x, m.weights({24}, 7), m.weights({24}, 8)},
                {{"axis", ModelMaker::attribute(int64_t{-1})}});
}

/// A sum that a normalization reads, and something after it.
ValueId pre_normalized(ModelMaker& m, ValueId x) {
  const ValueId sum = m.node("Add", {x, m.node("Transpose", {m.weights({24, 6}, 1)})});
  const ValueId product = m.node("MatMul", {normalized(m, sum), m.weights({24, 24}, 2)});
  return m.node("Sub", {m.node("Tanh", {product}), sum});
}

void expect_joint_near(const ir::Tensor& got, const ir::Tensor& want, const std::string& where) {
  ASSERT_EQ(got.shape(), want.shape()) << where;
  for (int64_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(got.get_real(i), want.get_real(i), 2e-5) << where << " element " << i;
  }
}

/// Joins what can be joined, and compares the answer. Returns the steps of the plan.
std::vector<Step> joined_steps(const ModelMaker& model, const ir::Tensor& input) {
  const Knobs knobs{{"AXRUN_SWAP", "join"}};
  const auto session = model.session(one_thread());
  for (int k = 0; k < 2; ++k) session->run({RuntimeValue(input)});
  EXPECT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  const Values results = session->run({RuntimeValue(input)});
  for (size_t k = 0; k < results.size(); ++k) {
    expect_joint_near(results[k].tensor, fallback_answer(model, {RuntimeValue(input)}, k), text_of(status));
  }
  EXPECT_EQ(status.steps, status.swapped) << text_of(status);
  int steps = 0;
  double shares = 0;
  for (const OptimizedKernel& kernel : status.kernels) {
    steps += kernel.steps;
    shares += kernel.share;
  }
  EXPECT_EQ(steps, status.steps) << text_of(status);
  EXPECT_NEAR(shares, 1, 1e-6) << text_of(status);
  return session->current_plan({input.shape()})->steps();
}

TEST(Joints, AMapAndTheReductionOfItsRowsAreOneStep) {
  const auto model = model_of(
      [](ModelMaker& m, ValueId x) {
        return normalized(m, m.node("Add", {x, m.node("Mul", {x, m.weights({24}, 1)})}));
      },
      {6, 24});
  const std::vector<Step> steps = joined_steps(model, ModelMaker::random({6, 24}, 9));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].work->ops, "Mul+Add+LayerNormalization");
}

TEST(Joints, AResultThatIsReadElsewhereTooIsGivenAsWell) {
  ModelMaker model;
  const ValueId x = model.input("x", ElementType::f32, {6, 24});
  const ValueId sum = model.node("Add", {x, model.weights({24}, 1)});
  model.output(normalized(model, sum));
  model.output(sum);
  const std::vector<Step> steps = joined_steps(model, ModelMaker::random({6, 24}, 9));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].work->ops, "Add+LayerNormalization");
  const auto given = [](ValueId id) { return id != ir::absent; };
  EXPECT_EQ(std::count_if(steps[0].work->outputs.begin(), steps[0].work->outputs.end(), given), 2);
}

TEST(Joints, ViewsInBetweenGoWithThem) {
  const auto model = model_of(
      [](ModelMaker& m, ValueId x) {
        const ValueId sum = m.node("Mul", {x, m.weights({24}, 1)});
        const ValueId view = m.node("Reshape", {sum, m.integers({2, 3, 24})});
        return m.node("Softmax", {view}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
      },
      {6, 24});
  const std::vector<Step> steps = joined_steps(model, ModelMaker::random({6, 24}, 9));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].work->ops, "Mul+Reshape+Softmax");
}

TEST(Joints, AttentionIsOneStepOfThreeThatNoTwoMakeUp) {
  const auto model = model_of(
      [](ModelMaker& m, ValueId x) {
        const ValueId scores = m.node("MatMul", {x, m.node("Transpose", {x})});
        const ValueId shares = m.node("Softmax", {scores}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
        return m.node("MatMul", {shares, x});
      },
      {40, 32});
  const std::vector<Step> steps = joined_steps(model, ModelMaker::random({40, 32}, 9));
  const auto whole = std::find_if(steps.begin(), steps.end(), [](const Step& step) {
    return step.work->ops.find("MatMul+Softmax+MatMul") != std::string::npos;
  });
  ASSERT_NE(whole, steps.end());
  EXPECT_NE(whole->kernel->describe().find("attention"), std::string::npos) << whole->kernel->describe();
}

/// What joins() of the fallback's plan offers, as names.
std::vector<std::string> offered(const ModelMaker& model, const ir::Shape& shape, size_t count = 2) {
  const auto session = model.session(one_thread(Tier::fallback));
  session->prepare({shape});
  std::vector<std::string> found;
  for (const Joint& joint : joints_of(*session->current_plan({shape}), count)) {
    found.push_back(joint.step.work->ops);
    EXPECT_EQ(joint.steps.size(), count);
    EXPECT_TRUE(std::is_sorted(joint.steps.begin(), joint.steps.end()));
  }
  return found;
}

/// What gathers hundreds of results is not tried with each of them.
TEST(Joints, StepsThatReadManyValuesStayAlone) {
  for (const int64_t count : {63, 64, 65}) {
    const ModelMaker model = model_of(
        [&](ModelMaker& m, ValueId x) {
          std::vector<ValueId> parts;
          for (int64_t k = 0; k < count; ++k) {
            parts.push_back(m.node("Softmax", {m.node("Add", {x, m.weights({4}, static_cast<int>(k))})}));
          }
          return m.node("Concat", parts, {{"axis", ModelMaker::attribute(int64_t{0})}});
        },
        {2, 4});
    std::vector<std::string> found = offered(model, {2, 4});
    std::erase_if(found, [](const std::string& ops) { return ops.find("Concat") == std::string::npos; });
    EXPECT_EQ(found.size(), count <= 64 ? static_cast<size_t>(count) : 0);
  }
}

TEST(Joints, NothingMovesPastAReader) {
  // The first result is read by the product in between, so that it cannot be computed with its transposition.
  const auto model = model_of(
      [](ModelMaker& m, ValueId x) {
        const ValueId soft = m.node("Softmax", {x}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
        const ValueId product = m.node("MatMul", {soft, m.weights({24, 24}, 2)});
        const ValueId other = m.node("Softmax", {product}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
        return m.node("MatMul", {m.node("Transpose", {soft}), other});
      },
      {6, 24});
  const std::vector<std::string> found = offered(model, {6, 24});
  EXPECT_EQ(found, (std::vector<std::string>{"Softmax+MatMul", "MatMul+Softmax", "Softmax+MatMul",
                                             "Transpose+MatMul"}))
      << "and not Softmax+Transpose";
  EXPECT_EQ(offered(model, {6, 24}, 3),
            (std::vector<std::string>{"Softmax+MatMul+Softmax", "MatMul+Softmax+MatMul"}))
      << "and not Softmax+Transpose+MatMul";
}

TEST(Joints, NewShapesAreServedByTheSameKernels) {
  const Knobs knobs{{"AXRUN_SWAP", "join"}};
  const ModelMaker model =
      model_of([](ModelMaker& m, ValueId x) { return normalized(m, m.node("Tanh", {x})); },
               {ir::Dim::symbol("rows"), 24});
  const auto session = model.session(one_thread());
  for (int k = 0; k < 2; ++k) session->run({RuntimeValue(ModelMaker::random({5, 24}, 1))});
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus before = session->optimizer_status();
  EXPECT_EQ(before.steps, 1) << text_of(before);
  for (const int64_t rows : {2, 7, 40}) {
    const Values input = {RuntimeValue(ModelMaker::random({rows, 24}, 3))};
    expect_joint_near(session->run(input)[0].tensor, fallback_answer(model, input), std::to_string(rows));
    EXPECT_EQ(session->current_plan({{rows, 24}})->steps().size(), 1u) << rows;
  }
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  EXPECT_EQ(session->optimizer_status().tried, before.tried);
}

/// Sizes without a kernel of the joint: the parts stand in.
TEST(Joints, WhereTheKernelDoesNotServeThePartsDo) {
  const Knobs knobs{{"AXRUN_SWAP", "join"}};
  const ModelMaker model =
      model_of([](ModelMaker& m, ValueId x) { return normalized(m, m.node("Tanh", {x})); },
               {ir::Dim::symbol("rows"), 24});
  const auto session = model.session(one_thread());
  for (int k = 0; k < 2; ++k) session->run({RuntimeValue(ModelMaker::random({5, 24}, 1))});
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  // One row is not in the range of several.
  const Values input = {RuntimeValue(ModelMaker::random({1, 24}, 3))};
  expect_joint_near(session->run(input)[0].tensor, fallback_answer(model, input), "one row");
  EXPECT_EQ(session->current_plan({{1, 24}})->steps().size(), 2u);
}

TEST(Joints, DeterministicMeansTheSameBits) {
  const Knobs knobs{{"AXRUN_SWAP", "join"}};
  SessionOptions options = one_thread();
  options.deterministic = true;
  const auto session = model_of(pre_normalized, {6, 24}).session(options);
  const Values input = {RuntimeValue(ModelMaker::random({6, 24}, 9))};
  const ir::Tensor first = session->run(input)[0].tensor.clone();
  session->run(input);
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const ir::Tensor later = session->run(input)[0].tensor;
  EXPECT_EQ(std::memcmp(first.data(), later.data(), first.bytes()), 0);
}

TEST(Joints, StepsAreJoinedUnderTraffic) {
  const Knobs knobs{{"AXRUN_SWAP", "join"}};
  const auto session = model_of(pre_normalized, {6, 24}).session(one_thread());
  const Values input = {RuntimeValue(ModelMaker::random({6, 24}, 9))};
  const ir::Tensor want = session->run(input)[0].tensor.clone();
  const size_t before = session->current_plan({{6, 24}})->steps().size();
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        const ir::Tensor got = session->run(input)[0].tensor;
        for (int64_t i = 0; i < got.size(); ++i) {
          if (!(std::fabs(got.get_real(i) - want.get_real(i)) <= 2e-5)) ++wrong;
        }
      }
    });
  }
  const auto joined = [&] { return session->current_plan({{6, 24}})->steps().size() < before; };
  for (int k = 0; k < 6000 && !joined(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(joined()) << text_of(session->optimizer_status());
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace axrun::tests
