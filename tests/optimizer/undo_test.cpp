// What the optimiser does with kernels that turn out slower: alone, in the model, and in real runs.

#include <gtest/gtest.h>

#include "tests/optimizer/bench.h"
#include "tests/optimizer/knobs.h"

namespace axrun::tests {
namespace {

/// A bench whose optimiser has done what is asked for. That a kernel is faster it finds out by measuring,
/// which may go wrong while others have the processors: another bench measures again. Null: it is never done.
std::unique_ptr<Bench> bench_where(const std::function<std::unique_ptr<Bench>()>& make,
                                   const std::function<bool(Bench&)>& is_done) {
  constexpr int most_benches = 6;
  for (int k = 0; k < most_benches; ++k) {
    auto bench = make();
    for (int run = 0; run < 40; ++run) bench->run();
    if (bench->optimizer().wait(patience) && is_done(*bench)) return bench;
  }
  return nullptr;
}

TEST(Undo, WhatIsSlowerInTheModelIsNotPutInForce) {
  const Knobs knobs{};
  Bench bench;
  bench.hindered = true;
  const auto before = bench.plan();
  for (int k = 0; k < 2; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  EXPECT_TRUE(bench.says("not swapped"));
  EXPECT_EQ(generated_steps(*bench.plan()), 0);
  // It is not tried again and again.
  const size_t swaps = bench.optimizer().status().swaps.size();
  for (int k = 0; k < 200; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  EXPECT_EQ(bench.optimizer().status().swaps.size(), swaps);
}

TEST(Undo, WhatMakesRealRunsSlowerIsTakenBack) {
  const Knobs knobs{};
  const auto found =
      bench_where([] { return std::make_unique<Bench>(); },
                  [](Bench& one) { return one.says("swap") && generated_steps(*one.plan()) > 0; });
  ASSERT_NE(found, nullptr) << "the generated kernel is no faster";
  Bench& bench = *found;
  bench.hindered = true;
  for (int k = 0; k < 40; ++k) bench.run();
  EXPECT_TRUE(comes_true([&] { return bench.says("undo"); }));
  EXPECT_EQ(generated_steps(*bench.plan()), 0);
}

TEST(Undo, AnOptimiserMayEndWhileRealRunsAreComparedAgain) {
  const Knobs knobs{};
  for (const int milliseconds : {30, 60, 100, 150, 200, 260, 330}) {
    const auto bench =
        bench_where([] { return std::make_unique<Bench>(); },
                    [](Bench& one) { return one.says("swap") && generated_steps(*one.plan()) > 0; });
    ASSERT_NE(bench, nullptr) << "the generated kernel is no faster";
    bench->hindered = true;
    for (int k = 0; k < 40; ++k) bench->run();
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
}

TEST(Undo, StepsThatWereJoinedComeApartAgain) {
  const Knobs knobs{};
  const auto found = bench_where([] { return std::make_unique<Bench>(two_steps(), 2); },
                                 [](Bench& one) { return one.plan()->steps().size() == 1; });
  ASSERT_NE(found, nullptr) << "the joint kernel is no faster";
  Bench& bench = *found;
  bench.hindered = true;
  for (int k = 0; k < 40; ++k) bench.run();
  EXPECT_TRUE(comes_true([&] { return bench.says("undo"); }));
  EXPECT_EQ(bench.plan()->steps().size(), 2u);
  // It is blamed, and its shares of the time are its parts' again.
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  EXPECT_EQ(bench.plan()->steps().size(), 2u);
  int steps = 0;
  double shares = 0;
  for (const OptimizedKernel& kernel : bench.optimizer().status().kernels) {
    steps += kernel.steps;
    shares += kernel.share;
    EXPECT_TRUE(kernel.steps == 0 || kernel.ops.find('+') == std::string::npos) << kernel.ops;
  }
  EXPECT_EQ(steps, 2);
  EXPECT_NEAR(shares, 1, 1e-6);
}

TEST(Undo, AKernelThatIsSlowerByItselfIsNotUsed) {
  const Knobs knobs{};
  Bench bench(one_by_one);
  for (int k = 0; k < 2; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  const OptimizerStatus status = bench.optimizer().status();
  ASSERT_EQ(status.kernels.size(), 1u);
  EXPECT_TRUE(status.kernels[0].proof.starts_with("proved")) << status.kernels[0].reason;
  // Whatever the measurement says decides; that it is slow is not taken for granted.
  const bool faster = status.kernels[0].state == OptimizedKernel::State::accepted;
  EXPECT_EQ(generated_steps(*bench.plan()) > 0, faster);
  if (!faster) {
    EXPECT_EQ(status.kernels[0].state, OptimizedKernel::State::slower) << status.kernels[0].reason;
  }
}

TEST(Undo, WhereTheKernelForARangeIsSlowOneForTheVerySizesIsTried) {
  const Knobs knobs{};
  // Before the kernel for the range is judged the shapes have come again often enough, however slowly this
  // thread runs.
  std::atomic<bool> repeated{false};
  const LowerFunction slow_ranges = [&](const ir::Program& expression, const search::Sizes& sizes,
                                        const std::vector<bool>& constant, const jit::Target& target,
                                        size_t rank) {
    while (!repeated) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const bool open = sizes[0].low != sizes[0].high;
    return open ? one_by_one(expression, sizes, constant, target, rank)
                : search::lower(expression, sizes, constant, target, rank);
  };
  Bench bench(slow_ranges, ir::Dim::symbol("rows"));
  for (int k = 0; k < 40; ++k) bench.run();
  repeated = true;
  ASSERT_TRUE(bench.optimizer().wait(patience));
  const OptimizerStatus status = bench.optimizer().status();
  // Under sanitizers even the slow schedule may beat the fallback: then there is nothing more to try.
  const bool range_is_slow = status.kernels[0].state == OptimizedKernel::State::slower;
  ASSERT_EQ(status.kernels.size(), range_is_slow ? 2u : 1u) << status.kernels[0].reason;
  if (!range_is_slow) return;
  const OptimizedKernel& special = status.kernels[1];
  EXPECT_EQ(special.sizes, "n0: 128..128");
  EXPECT_TRUE(special.proof.starts_with("proved")) << special.reason;
  const bool faster = special.state == OptimizedKernel::State::accepted;
  EXPECT_EQ(generated_steps(*bench.plan()) > 0, faster);
  EXPECT_EQ(special.steps, faster ? 1 : 0);
}

}  // namespace
}  // namespace axrun::tests
