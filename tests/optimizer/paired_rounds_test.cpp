#include "runtime/optimizer/paired_rounds.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace axrun::tests {
namespace {

using namespace runtime;

TEST(PairedRounds, RoundsGoForthAndBack) {
  std::string order;
  StopSignal stop;
  RoundOptions options;
  options.fewest = options.most = 3;
  options.batch_seconds = 0;
  const Ratio ratio = paired_rounds([&] { order += 'a'; }, [&] { order += 'b'; }, stop, options);
  EXPECT_EQ(order,
            "ab"
            "abba"
            "baab"
            "baab");
  EXPECT_EQ(ratio.rounds, 3);
  EXPECT_LE(ratio.first_won + ratio.second_won, 3);
}

TEST(PairedRounds, PairsOfLongCallsAreRounds) {
  std::string order;
  StopSignal stop;
  RoundOptions options;
  options.fewest = options.most = 3;
  options.batch_seconds = options.long_seconds = 0;
  options.share = 1e9;  // nothing is ever clear
  const auto a = [&] { order += 'a'; };
  const auto b = [&] { order += 'b'; };
  EXPECT_EQ(paired_rounds(a, b, stop, options).rounds, 3);
  EXPECT_EQ(order,
            "ab"
            "abba"
            "ba");
  order.clear();
  options.warm = true;
  EXPECT_EQ(paired_rounds(a, b, stop, options).rounds, 3);
  EXPECT_EQ(order, "ababba");
}

TEST(PairedRounds, LongCallsEndEarlyWhereTheSecondIsClearlySlower) {
  StopSignal stop;
  int calls = 0;
  const auto work = [&](int times) {
    ++calls;
    volatile double sum = 0;
    for (int k = 0; k < times; ++k) sum = sum + k;
  };
  RoundOptions options;
  options.long_seconds = 0;
  options.batch_seconds = 0;
  options.warm = true;
  options.own_time = true;
  const auto quick = [&] { work(100'000); };
  const auto slow = [&] { work(500'000); };
  EXPECT_TRUE(paired_rounds(quick, slow, stop, options).second_is_slower(options.share));
  EXPECT_EQ(calls, 6);
  EXPECT_TRUE(paired_rounds(slow, quick, stop, options).second_is_faster(options.share));
  EXPECT_GE(calls, 6 + 18);
}

TEST(PairedRounds, FewRoundsAreEnoughWhereTheyTakeLong) {
  StopSignal stop;
  int calls = 0;
  const auto work = [&] {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  };
  RoundOptions options;
  options.share = 1e9;
  options.most_seconds = 1e-3;
  EXPECT_EQ(paired_rounds(work, work, stop, options).rounds, options.fewest);
  calls = 0;
  options.fewest_if_long = 1;
  EXPECT_EQ(paired_rounds(work, work, stop, options).rounds, 1);
  EXPECT_EQ(calls, 6);
  calls = 0;
  options.long_seconds = 1e-3;
  EXPECT_EQ(paired_rounds(work, work, stop, options).rounds, 1);
  EXPECT_EQ(calls, 2) << "a single call takes longer than all may";
}

TEST(PairedRounds, OneOfTwoHundredEqualsPassesAtMost) {
  // Every round is won or lost like a coin is tossed, and what passes at any of them is swapped.
  const int most = RoundOptions().most;
  std::vector<double> going_on = {1};  // by rounds lost: how likely, and not passed so far
  double passed = 0;
  for (int rounds = 1; rounds <= most; ++rounds) {
    std::vector<double> next(going_on.size() + 1);
    for (size_t lost = 0; lost < going_on.size(); ++lost) {
      next[lost] += going_on[lost] / 2;
      next[lost + 1] += going_on[lost] / 2;
    }
    for (size_t lost = 0; lost < next.size(); ++lost) {
      Ratio ratio;
      ratio.median = 2;
      ratio.rounds = rounds;
      ratio.first_won = static_cast<int>(lost);
      ratio.second_won = rounds - ratio.first_won;
      if (ratio.second_is_faster(0.02)) passed += std::exchange(next[lost], 0);
    }
    going_on = next;
  }
  EXPECT_LT(passed, 0.005);
  EXPECT_GT(passed, 0.002) << "hardly anything passes";
}

TEST(PairedRounds, AStopEndsThem) {
  StopSignal stop;
  int calls = 0;
  const auto work = [&] {
    if (++calls == 20) stop.request();
  };
  RoundOptions options;
  options.batch_seconds = 0;
  options.most = 1'000'000;
  options.most_seconds = 1e9;
  options.share = 1e9;  // nothing is ever clear
  const Ratio ratio = paired_rounds(work, work, stop, options);
  EXPECT_LE(calls, 24);
  EXPECT_LE(ratio.rounds, 6);
  stop.request();
  EXPECT_EQ(paired_rounds(work, work, stop, options).rounds, 0);
}

TEST(PairedRounds, TimeThatOthersTookCountsOnlyWhereItIsAskedFor) {
  StopSignal stop;
  const auto work = [] {
    volatile double sum = 0;
    for (int k = 0; k < 100000; ++k) sum = sum + k;
  };
  const auto interrupted = [&] {
    work();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  };
  RoundOptions options;
  options.batch_seconds = 0;
  EXPECT_TRUE(paired_rounds(work, interrupted, stop, options).second_is_slower(0.5));
  options.own_time = true;
  EXPECT_FALSE(paired_rounds(work, interrupted, stop, options).second_is_slower(0.5));
}

TEST(PairedRounds, AVerdictNeedsRoundsThatAgree) {
  const auto faster = [](double median, int rounds, int won) {
    Ratio ratio;
    ratio.median = median;
    ratio.rounds = rounds;
    ratio.second_won = won;
    ratio.first_won = rounds - won;
    return ratio.second_is_faster(0.02);
  };
  EXPECT_FALSE(Ratio().second_is_faster(0.02));
  EXPECT_FALSE(Ratio().second_is_slower(0.02));
  EXPECT_FALSE(faster(2, 8, 8));
  EXPECT_TRUE(faster(2, 9, 9));
  EXPECT_FALSE(faster(2, 9, 8));
  EXPECT_FALSE(faster(2, 12, 11));
  EXPECT_TRUE(faster(2, 13, 12));
  EXPECT_FALSE(faster(1.01, 22, 22));
  EXPECT_TRUE(faster(1.02, 22, 19));
  EXPECT_FALSE(faster(1.02, 22, 18));

  const auto slower = [](double median, int rounds, int lost) {
    Ratio ratio;
    ratio.median = median;
    ratio.rounds = rounds;
    ratio.first_won = lost;
    ratio.second_won = rounds - lost;
    return ratio.second_is_slower(0.02);
  };
  EXPECT_TRUE(slower(0.5, 3, 3));
  EXPECT_FALSE(slower(0.5, 3, 2));
  EXPECT_FALSE(slower(0.95, 3, 3)) << "of few rounds, only much slower counts";
  EXPECT_TRUE(slower(0.95, 9, 9));

  const auto as_fast = [](double median, int rounds) {
    Ratio ratio;
    ratio.median = median;
    ratio.rounds = rounds;
    return ratio.second_is_about_as_fast(0.005);
  };
  EXPECT_FALSE(Ratio().second_is_about_as_fast(0.005));
  EXPECT_FALSE(as_fast(2, 8));
  EXPECT_TRUE(as_fast(1, 9));
  EXPECT_TRUE(as_fast(0.996, 9));
  EXPECT_FALSE(as_fast(0.994, 22));
}

TEST(PairedRounds, EndAtTheFirstDoubtWhereTheyMay) {
  const StopSignal stop;
  RoundOptions options;
  options.long_seconds = 1e-4;
  options.ends_at_doubt = true;
  const auto spend = [](double seconds) {
    return [seconds] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
      while (std::chrono::steady_clock::now() < end) {
      }
    };
  };
  const Ratio faster = paired_rounds(spend(6e-3), spend(2e-3), stop, options);
  EXPECT_LT(faster.rounds, 4);
  EXPECT_FALSE(faster.second_is_slower(options.share));
  // Where all agree they go on until that is clear.
  bool slower = false;
  for (int attempt = 0; attempt < 20 && !slower; ++attempt) {
    const Ratio found = paired_rounds(spend(2e-3), spend(6e-3), stop, options);
    slower = found.second_is_slower(options.share) && found.rounds >= 3;
  }
  EXPECT_TRUE(slower);
}

}  // namespace
}  // namespace axrun::tests
