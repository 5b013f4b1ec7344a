// The order and the arithmetic of interleaved measurements, on a clock that only the contestants move.
#include "perf/kernels/interleave.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace axrun::perf {
namespace {

/// A clock that stands still unless someone works, and the order in which they did.
struct Bout {
  double time = 0;
  double paused = 0;
  std::string order;  ///< a letter for each change of contestant
  int64_t runs = 0;
  Clock clock{[this] { return time; }, [this](double seconds) { paused += seconds; }};

  Contestant contestant(char letter, std::function<double()> seconds) {
    return {std::string(1, letter), [this, letter, seconds] {
              if (order.empty() || order.back() != letter) order += letter;
              ++runs;
              time += seconds();
            }};
  }
  Contestant contestant(char letter, double seconds) {
    return contestant(letter, [seconds] { return seconds; });
  }
};

Schedule rounds_of(int rounds) {
  Schedule schedule;
  schedule.rounds = schedule.least_rounds = rounds;
  return schedule;
}

TEST(Interleave, RoundsRunThereAndBack) {
  Bout bout;
  const std::vector<Contestant> contestants = {bout.contestant('a', 1e-4), bout.contestant('b', 2e-4),
                                               bout.contestant('c', 1e-6)};
  const auto seconds = interleave(contestants, rounds_of(2), bout.clock);
  // Block sizes are found first; the two blocks at a turn are of the same contestant.
  EXPECT_EQ(bout.order,
            "abc"
            "abcba"
            "bcba");
  ASSERT_EQ(seconds.size(), 3u);
  for (const auto& of_one : seconds) ASSERT_EQ(of_one.size(), 2u);
  EXPECT_NEAR(seconds[0][1], 1e-4, 1e-12);
  EXPECT_NEAR(seconds[1][0], 2e-4, 1e-12);
  EXPECT_NEAR(seconds[2][0], 1e-6, 1e-12);
}

TEST(Interleave, LongRunsAreBlocksOfTheirOwn) {
  Bout bout;
  interleave({bout.contestant('a', 1.0)}, rounds_of(3), bout.clock);
  EXPECT_EQ(bout.runs, 2 + 3 * 2);  // one to warm up, one to find the block's size, two a round
}

TEST(Interleave, ShortRunsFillABlock) {
  Bout bout;
  Schedule schedule = rounds_of(1);
  schedule.block_seconds = 1e-2;
  schedule.stretch_seconds = 1e-3;
  interleave({bout.contestant('a', 1e-5)}, schedule, bout.clock);
  const double measured = bout.time;
  EXPECT_GT(measured, 2e-2);  // two blocks
  EXPECT_LT(measured, 3e-2);  // a tenth more in each, and what finding its size takes
}

TEST(Interleave, TheBudgetEndsTheRounds) {
  Bout bout;
  Schedule schedule;
  schedule.rounds = 100;
  schedule.least_rounds = 4;
  schedule.budget_seconds = 7;
  EXPECT_EQ(interleave({bout.contestant('a', 1.0)}, schedule, bout.clock)[0].size(), 4u);
  schedule.budget_seconds = 11;
  EXPECT_EQ(interleave({bout.contestant('a', 1.0)}, schedule, bout.clock)[0].size(), 6u);
}

TEST(Interleave, EachBlockStartsAfterAPause) {
  Bout bout;
  Schedule schedule = rounds_of(3);
  schedule.pause_seconds = 1;
  const auto seconds =
      interleave({bout.contestant('a', 1e-3), bout.contestant('b', 1e-3)}, schedule, bout.clock);
  EXPECT_EQ(bout.paused, 2 + 3 * 4);
  EXPECT_NEAR(seconds[0][0], 1e-3, 1e-12);  // pauses are not measured
}

TEST(Interleave, InterruptionsDropOutOfABlock) {
  Bout bout;
  int run = 0;
  const auto often_interrupted = [&] { return ++run % 5 == 0 ? 5e-3 : 2e-4; };
  const auto seconds = interleave({bout.contestant('a', often_interrupted)}, rounds_of(6), bout.clock);
  for (double second : seconds[0]) EXPECT_NEAR(second, 2e-4, 1e-12);
}

TEST(Interleave, DriftDropsOutOfTheRatio) {
  Bout bout;
  // The machine gets slower by a hundredth each millisecond: b would seem slower than a if it only came
  // later.
  const auto slowing = [&](double seconds) { return seconds * (1 + 10 * bout.time); };
  const auto seconds = interleave({bout.contestant('a', [&] { return slowing(1e-4); }),
                                   bout.contestant('b', [&] { return slowing(1e-4); })},
                                  rounds_of(3), bout.clock);
  EXPECT_NEAR(paired_ratio(seconds[0], seconds[1]).median, 1, 0.01);
  EXPECT_GT(seconds[0][2] / seconds[0][0], 1.1);
}

TEST(PairedRatio, MedianAndInterval) {
  const std::vector<double> ones(12, 1.0);
  const Ratio ratio = paired_ratio({12, 1, 11, 2, 10, 3, 9, 4, 8, 5, 7, 6}, ones);
  EXPECT_EQ(ratio.median, 6.5);
  EXPECT_EQ(ratio.low, 3);  // of the binomial: 96% between the third smallest and the third largest
  EXPECT_EQ(ratio.high, 10);
}

TEST(PairedRatio, PairsAreOfOneRound) {
  EXPECT_EQ(paired_ratio({1, 10, 100}, {2, 20, 200}).high, 0.5);
  EXPECT_EQ(paired_ratio({1, 10, 100}, {2, 20, 200}).low, 0.5);
}

TEST(PairedRatio, FewRoundsGiveTheExtremes) {
  const Ratio ratio = paired_ratio({3, 1, 2}, {1, 1, 1});
  EXPECT_EQ(ratio.low, 1);
  EXPECT_EQ(ratio.median, 2);
  EXPECT_EQ(ratio.high, 3);
  EXPECT_EQ(paired_ratio({}, {}).median, 0);
}

}  // namespace
}  // namespace axrun::perf
