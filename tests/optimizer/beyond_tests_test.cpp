// Kernels at sizes that are in the range of their proof, and beyond those at which their code was tested.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/optimizer/plan_tree.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"

namespace axrun::tests {
namespace {

using namespace runtime;
namespace fs = std::filesystem;

constexpr int64_t columns = 2048;

/// So long rows that nobody tries many of them before they are asked for; any schedule is faster than the
/// fallback.
ModelMaker triangle() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {ir::Dim::symbol("rows"), columns});
  m.output(m.node("Trilu", {x}, {{"upper", ModelMaker::attribute(int64_t{0})}}));
  return m;
}
/// Little work, whatever the rows are.
ModelMaker sum_of_rows() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {ir::Dim::symbol("rows"), 8});
  m.output(m.node("Softmax", {x}, {{"axis", ModelMaker::attribute(int64_t{-1})}}));
  return m;
}

Values inputs_of(int64_t rows) { return {RuntimeValue(ModelMaker::random({rows, columns}, 3))}; }

class BeyondTests : public testing::Test {
 protected:
  void SetUp() override {
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::temp_directory_path() / ("axrun_beyond_" + test + std::to_string(getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::unique_ptr<Session> session() const {
    SessionOptions options = one_thread();
    options.use_cache = true;
    options.cache_dir = folder_.string();
    return triangle().session(options);
  }
  /// Of the plan of the run that there was last for so many rows.
  static int generated(Session& session, int64_t rows) {
    const auto plan = session.current_plan({{rows, columns}});
    return plan ? generated_steps(*plan) : -1;
  }
  static void run(Session& session, int64_t rows) {
    const Values inputs = inputs_of(rows);
    const ir::Tensor got = session.run(inputs)[0].tensor;
    const ir::Tensor want = fallback_answer(triangle(), inputs);
    ASSERT_EQ(got.shape(), want.shape());
    for (int64_t k = 0; k < want.size(); ++k) ASSERT_EQ(got.get_real(k), want.get_real(k)) << k;
  }
  /// Until nothing is left to do.
  static OptimizerStatus settled(Session& session, int64_t rows) {
    for (int k = 0; k < 2; ++k) run(session, rows);
    EXPECT_TRUE(session.wait_for_optimizer(patience));
    return session.optimizer_status();
  }

  fs::path folder_;
};

TEST_F(BeyondTests, TheFallbackServesUntilTheHelperHasTestedTheKernelThere) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const auto session = this->session();
  const OptimizerStatus first = settled(*session, 30);
  ASSERT_EQ(first.kernels.size(), 1u) << text_of(first);
  const OptimizedKernel& kernel = first.kernels[0];
  ASSERT_EQ(kernel.state, OptimizedKernel::State::accepted) << text_of(first);
  EXPECT_EQ(kernel.sizes, "n0: 2..16384");
  EXPECT_EQ(kernel.served, "n0: 2..514");
  EXPECT_EQ(kernel.tested, "n0=257");
  // Within: at once, and nothing is tried.
  run(*session, 514);
  EXPECT_EQ(generated(*session, 514), 1);
  // Beyond: the first answers are the fallback's.
  run(*session, 515);
  EXPECT_EQ(generated(*session, 515), 0);
  const OptimizerStatus then = settled(*session, 515);
  EXPECT_EQ(generated(*session, 515), 1) << text_of(then);
  ASSERT_EQ(then.kernels.size(), 1u) << text_of(then);
  EXPECT_EQ(then.tried, first.tried + 1);
  EXPECT_EQ(then.kernels[0].code_bytes, kernel.code_bytes);
  EXPECT_EQ(then.kernels[0].served, "n0: 2..1030");
  EXPECT_NE(then.kernels[0].gate.find("; then "), std::string::npos) << then.kernels[0].gate;
  run(*session, 1030);
  EXPECT_EQ(generated(*session, 1030), 1);
  run(*session, 1031);
  EXPECT_EQ(generated(*session, 1031), 0);
}

TEST_F(BeyondTests, WarmStartsKnowHowFarItWasTested) {
  const Knobs knobs{};
  for (const int64_t rows : {30, 515}) {
    const auto session = this->session();
    settled(*session, rows);
    session->freeze();
  }
  const auto session = this->session();
  run(*session, 515);
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_TRUE(status.cache.found);
  ASSERT_FALSE(status.kernels.empty()) << text_of(status);
  EXPECT_EQ(status.kernels[0].served, "n0: 2..1030") << text_of(status);
  EXPECT_EQ(generated(*session, 515), 1) << text_of(status);
  EXPECT_EQ(status.worker_starts, 0);
  run(*session, 1031);
  EXPECT_EQ(generated(*session, 1031), 0);
}

TEST_F(BeyondTests, WhatTakesLittleIsTestedAtEveryBorderAtFirst) {
  const Knobs knobs{{"AXRUN_SWAP", "always"}};
  const auto session = sum_of_rows().session(one_thread());
  for (int k = 0; k < 2; ++k) session->run({RuntimeValue(ModelMaker::random({30, 8}, 3))});
  ASSERT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  ASSERT_EQ(status.kernels.size(), 1u);
  EXPECT_EQ(status.kernels[0].served, "n0: 2..8194") << text_of(status);
}

/// Where it does not serve yet its parts do; then it is one step again.
TEST_F(BeyondTests, StepsThatBecameOneDoSoThereToo) {
  const Knobs knobs{{"AXRUN_SWAP", "join"}};
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {ir::Dim::symbol("rows"), columns});
  const ir::ValueId a = m.node("Abs", {x});
  m.output(m.node("Softmax", {a}, {{"axis", ModelMaker::attribute(int64_t{-1})}}));
  const auto session = m.session(one_thread());
  for (const int64_t rows : {30, 515}) {
    for (int k = 0; k < 2; ++k) session->run(inputs_of(rows));
    ASSERT_TRUE(session->wait_for_optimizer(patience));
    const auto plan = session->current_plan({{rows, columns}});
    EXPECT_EQ(plan->steps().size(), 1u) << rows << text_of(session->optimizer_status());
    EXPECT_EQ(generated_steps(*plan), 1) << rows << text_of(session->optimizer_status());
  }
}

/// Proved for the whole range, right up to 550 rows, wrong beyond.
TEST_F(BeyondTests, AKernelThatIsWrongThereIsTakenOutOfAllPlans) {
  const Knobs knobs{{"AXRUN_WORKER", AXRUN_MISTAKEN_WORKER}, {"MISTAKEN_BEYOND", "550"}};
  const auto session = this->session();
  const OptimizerStatus first = settled(*session, 30);
  ASSERT_EQ(first.kernels.size(), 1u) << text_of(first);
  ASSERT_EQ(first.kernels[0].state, OptimizedKernel::State::accepted) << text_of(first);
  EXPECT_EQ(first.kernels[0].served, "n0: 2..514");
  EXPECT_EQ(generated(*session, 30), 1);
  run(*session, 560);
  EXPECT_EQ(generated(*session, 560), 0);
  const OptimizerStatus then = settled(*session, 560);
  EXPECT_EQ(generated(*session, 560), 0) << text_of(then);
  EXPECT_EQ(generated(*session, 30), 0) << text_of(then);
  const OptimizedKernel& kernel = then.kernels[0];
  EXPECT_EQ(kernel.state, OptimizedKernel::State::refused) << text_of(then);
  EXPECT_NE(kernel.reason.find("n0=560"), std::string::npos) << kernel.reason;
  EXPECT_EQ(kernel.served, "");
  EXPECT_EQ(kernel.code_bytes, 0);
  ASSERT_FALSE(then.swaps.empty());
  EXPECT_TRUE(then.swaps.back().what.starts_with("undo: a kernel was wrong")) << then.swaps.back().what;
  run(*session, 30);
  session->freeze();
  // Nor does the next session serve it, whatever its helper is like.
  const auto next = this->session();
  run(*next, 30);
  EXPECT_EQ(generated(*next, 30), 0) << text_of(next->optimizer_status());
}

/// The helper fails there: nothing is known of the kernel, which serves on where it did.
TEST_F(BeyondTests, AKernelThatCannotBeTestedThereServesWithinItsLimits) {
  const Knobs knobs{};
  {
    const auto session = this->session();
    settled(*session, 30);
    session->freeze();
  }
  const Knobs rogue{{"AXRUN_WORKER", AXRUN_ROGUE_WORKER}, {"ROGUE_BEHAVIOUR", "refuse"}};
  const auto session = this->session();
  const OptimizerStatus then = settled(*session, 515);
  EXPECT_EQ(generated(*session, 515), 0) << text_of(then);
  run(*session, 30);
  EXPECT_EQ(generated(*session, 30), 1) << text_of(session->optimizer_status());
  EXPECT_NE(then.kernels[0].served.find("not tested beyond"), std::string::npos) << then.kernels[0].served;
}

}  // namespace
}  // namespace axrun::tests
