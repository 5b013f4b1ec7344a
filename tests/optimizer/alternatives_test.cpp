// Schedules besides the default ones: when they are tried, which of them come into force, and what gives them
// back.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

#include "ir/text.h"
#include "runtime/host_target.h"
#include "runtime/optimizer/plan_tree.h"
#include "tests/optimizer/bench.h"
#include "tests/optimizer/knobs.h"

namespace axrun::tests {
namespace {

/// A schedule by its speed, told from others by its kind.
search::Lowered fast(const ir::Program& expression, const search::Sizes& sizes,
                     const std::vector<bool>& constant, const jit::Target& target) {
  search::Lowered lowered = search::lower(expression, sizes, constant, target);
  lowered.kind = "fast " + lowered.kind;
  return lowered;
}
search::Lowered slow(const ir::Program& expression, const search::Sizes& sizes,
                     const std::vector<bool>& constant, const jit::Target& target) {
  search::Lowered lowered = one_by_one(expression, sizes, constant, target, 0);
  lowered.kind = "slow " + lowered.kind;
  return lowered;
}

/// Gives every expression these schedules, in the order of their ranks, and remembers what it was asked for.
class Schedules {
 public:
  using Make = search::Lowered (*)(const ir::Program&, const search::Sizes&, const std::vector<bool>&,
                                   const jit::Target&);
  explicit Schedules(std::vector<Make> ranks) : ranks_(std::move(ranks)) {}

  LowerFunction function() {
    return [this](const ir::Program& expression, const search::Sizes& sizes,
                  const std::vector<bool>& constant, const jit::Target& target, size_t rank) {
      const std::lock_guard lock(mutex_);
      asked_.emplace_back(rank, ir::print(expression));
      search::Lowered lowered;
      if (rank < ranks_.size()) lowered = ranks_[rank](expression, sizes, constant, target);
      lowered.alternatives = lowered.program ? ranks_.size() - 1 : 0;
      return lowered;
    };
  }
  /// Ranks and expressions.
  std::vector<std::pair<size_t, std::string>> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  const std::vector<Make> ranks_;
  mutable std::mutex mutex_;
  std::vector<std::pair<size_t, std::string>> asked_;
};

bool runs(const Plan& plan, const std::string& kind) {
  return std::any_of(plan.steps().begin(), plan.steps().end(), [&](const Step& step) {
    return step.kernel && step.kernel->describe().find(kind) != std::string::npos;
  });
}

OptimizedKernel only_kernel(Bench& bench) {
  const OptimizerStatus status = bench.optimizer().status();
  EXPECT_EQ(status.kernels.size(), 1u);
  return status.kernels.at(0);
}

TEST(Alternatives, AFasterOneIsTakenOver) {
  const Knobs knobs{};
  Schedules schedules({slow, slow, fast, slow});
  Bench bench(schedules.function());
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  const OptimizedKernel kernel = only_kernel(bench);
  EXPECT_EQ(kernel.alternatives, 3);
  EXPECT_EQ(kernel.alternatives_tried, 3);
  EXPECT_EQ(kernel.rank, 2);
  EXPECT_EQ(kernel.state, OptimizedKernel::State::accepted);
  EXPECT_GE(kernel.alternative_speedup, 1.02);
  EXPECT_TRUE(kernel.kind.starts_with("fast")) << kernel.kind;
  EXPECT_TRUE(kernel.proof.starts_with("proved")) << kernel.proof;
  EXPECT_TRUE(runs(*bench.plan(), "jit fast"));
  EXPECT_EQ(bench.optimizer().status().left, 0);
  // Every trial says how it ended: the second is the first one's code, the last is slower than the third.
  ASSERT_EQ(kernel.trials.size(), 4u);
  for (size_t k = 0; k < kernel.trials.size(); ++k) EXPECT_EQ(kernel.trials[k].rank, static_cast<int>(k));
  EXPECT_EQ(kernel.trials[2].end, TriedKernel::End::in_force);
  EXPECT_NE(kernel.trials[0].end, TriedKernel::End::in_force);
  EXPECT_EQ(kernel.trials[3].end, TriedKernel::End::slower);
  for (const size_t compared : {0, 2, 3}) {
    EXPECT_GT(kernel.trials[compared].own_us, 0);
    EXPECT_GT(kernel.trials[compared].present_us, 0);
    EXPECT_GE(kernel.trials[compared].rounds, 1);
  }
  EXPECT_LT(kernel.trials[2].own_us, kernel.trials[2].present_us);
  EXPECT_GT(kernel.trials[3].own_us, kernel.trials[3].present_us);
}

/// What runs on one thread gains nothing from loops that are cut for several.
TEST(Alternatives, SchedulesAreForAsManyCoresAsRunsHaveThreads) {
  const Knobs knobs{};
  const int all = host_target().cores;
  EXPECT_EQ(host_target_for(1).cores, 1);
  EXPECT_EQ(host_target_for(all + 1).cores, all);
  std::atomic<int> most{0};
  Bench bench([&](const ir::Program& expression, const search::Sizes& sizes,
                  const std::vector<bool>& constant, const jit::Target& target, size_t rank) {
    if (target.cores > most) most = target.cores;
    return search::lower(expression, sizes, constant, target, rank);
  });
  for (int k = 0; k < 10; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  EXPECT_EQ(most, 1);
}

TEST(Alternatives, ASlowerOneIsDropped) {
  const Knobs knobs{};
  Schedules schedules({fast, slow, fast});
  Bench bench(schedules.function());
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  const OptimizedKernel kernel = only_kernel(bench);
  EXPECT_EQ(kernel.alternatives_tried, 2);
  EXPECT_EQ(kernel.rank, 0);
  EXPECT_GT(kernel.alternative_speedup, 0) << "none was measured";
  EXPECT_LT(kernel.alternative_speedup, 1.02);
  EXPECT_TRUE(runs(*bench.plan(), "jit fast"));
  EXPECT_EQ(bench.optimizer().status().code_bytes, kernel.code_bytes);
}

TEST(Alternatives, TheyAreTriedWhenEveryStepHasItsDefaultKernel) {
  const Knobs knobs{};
  Schedules schedules({fast, slow});
  Bench bench(two_steps(), 1, schedules.function());
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  size_t last_default = 0, first_alternative = ~size_t{0};
  const auto asked = schedules.asked();
  for (size_t k = 0; k < asked.size(); ++k) {
    if (asked[k].first == 0) last_default = k;
    if (asked[k].first == 1) first_alternative = std::min(first_alternative, k);
  }
  EXPECT_LT(first_alternative, asked.size()) << "none was tried";
  EXPECT_LT(last_default, first_alternative);
}

TEST(Alternatives, OneThatIsSlowerInTheModelGivesBackTheKernelBefore) {
  const Knobs knobs{};
  Schedules schedules({slow, fast});
  Bench bench(slow_at_first(), 1, schedules.function(), "fast");
  bench.hindered = true;
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  EXPECT_TRUE(bench.says("not swapped"));
  const OptimizedKernel kernel = only_kernel(bench);
  ASSERT_EQ(kernel.state, OptimizedKernel::State::accepted) << "the default kernel is no faster";
  EXPECT_EQ(kernel.rank, 0);
  EXPECT_GE(kernel.alternative_speedup, 1.02);
  EXPECT_TRUE(kernel.kind.starts_with("slow")) << kernel.kind;
  EXPECT_TRUE(runs(*bench.plan(), "jit slow"));
  EXPECT_EQ(bench.optimizer().status().code_bytes, kernel.code_bytes);
  ASSERT_EQ(kernel.trials.size(), 2u);
  EXPECT_EQ(kernel.trials[0].end, TriedKernel::End::in_force);
  EXPECT_EQ(kernel.trials[1].end, TriedKernel::End::undone);
}

TEST(Alternatives, OneThatMakesRealRunsSlowerGivesBackTheKernelBefore) {
  const Knobs knobs{};
  Schedules schedules({slow, fast});
  Bench bench(slow_at_first(), 1, schedules.function(), "fast");
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  ASSERT_TRUE(runs(*bench.plan(), "jit fast")) << "the alternative is no faster";
  bench.hindered = true;
  for (int k = 0; k < 40; ++k) bench.run();
  EXPECT_TRUE(comes_true([&] { return bench.says("undo"); }));
  EXPECT_TRUE(runs(*bench.plan(), "jit slow"));
  EXPECT_EQ(only_kernel(bench).rank, 0);
}

TEST(Alternatives, WhatIsTriedAndInWhichOrderIsTheSameInEveryDeterministicRun) {
  const Knobs knobs{};
  // Which joints are tried depends on which of the smaller ones were faster: on time.
  const auto changed = [](OptimizerSettings& settings) {
    settings.deterministic = true;
    settings.join = settings.layouts = false;
  };
  const auto tried = [&] {
    Schedules schedules({fast, slow, slow});
    Bench bench(four_steps(), 1, schedules.function(), "", changed);
    for (int k = 0; k < 40; ++k) bench.run();
    EXPECT_TRUE(bench.optimizer().wait(patience));
    return schedules.asked();
  };
  const auto first = tried();
  // Every step's default schedule, and others at least of those whose default one gives the same bits here.
  const auto defaults =
      std::count_if(first.begin(), first.end(), [](const auto& one) { return one.first == 0; });
  EXPECT_EQ(defaults, 4);
  EXPECT_GT(first.size(), 4u);
  for (int repetition = 0; repetition < 3; ++repetition) EXPECT_TRUE(tried() == first);
}

}  // namespace
}  // namespace axrun::tests
