#include "runtime/optimizer/pace.h"

#include <gtest/gtest.h>

#include <chrono>

#include "runtime/optimizer/stop_signal.h"
#include "runtime/optimizer/thread_time.h"
#include "runtime/optimizer/worker_pace.h"
#include "tests/runtime/control_group_files.h"

namespace axrun::tests {
namespace {

class PaceTest : public ControlGroupFiles {
 protected:
  runtime::Pace pace() const { return runtime::Pace(1, groups(), mount()); }
  runtime::Pace of_one_processor() {
    write("groups", "0::/service\n");
    write("mount/service/cpu.max", "100000 100000\n");
    write("mount/service/cpu.stat", "usage_usec 5\nnr_periods 1\nnr_throttled 0\n");
    return pace();
  }
};

/// A thread that works whenever it may, beside others that use that much of a processor, for that long.
/// Returns what it has used of the last second.
double used_beside(runtime::Pace& pace, double others, double seconds) {
  constexpr double piece = 2e-4;
  double now = 0, used = 0, used_before = 0;
  while (now < seconds) {
    if (now < seconds - 1) used_before = used;
    const double sleep = pace.due(now, used, others * now);
    now += sleep > 0 ? sleep : piece;
    used += sleep > 0 ? 0 : piece;
  }
  return used - used_before;
}

TEST_F(PaceTest, WithoutAQuotaNobodyWaits) {
  runtime::Pace free = pace();
  EXPECT_FALSE(free.limited());
  EXPECT_FALSE(free.spent());
  EXPECT_EQ(free.share(), 1);
}

TEST_F(PaceTest, NobodyTakesMoreThanTheUserAllows) {
  runtime::Pace free(0.25, groups(), mount());
  EXPECT_FALSE(free.limited());
  EXPECT_FALSE(free.spent());
  EXPECT_EQ(free.share(), 0.25);
  EXPECT_NEAR(used_beside(free, 0, 20), 0.25, 0.02);
  of_one_processor();
  runtime::Pace both(0.1, groups(), mount());
  EXPECT_TRUE(both.limited());
  EXPECT_NEAR(used_beside(both, 0, 20), 0.1, 0.01);
  runtime::Pace none(0.1, groups(), mount());
  EXPECT_LT(used_beside(none, 1, 20), 0.02);
}

TEST_F(PaceTest, WithoutAQuotaAThreadSleepsAsLongAsTheUsersShareSays) {
  runtime::Pace real(0.2, groups(), mount());
  runtime::StopSignal stop;
  const auto start = std::chrono::steady_clock::now();
  const double used_start = runtime::seconds_of_thread();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (passed() < 1) real.wait(stop);
  EXPECT_LT(runtime::seconds_of_thread() - used_start, 1 * 0.2 + 0.1);
}

TEST_F(PaceTest, HalfOfWhatOthersLeaveIsUsedInEqualParts) {
  runtime::Pace half = of_one_processor();
  EXPECT_TRUE(half.limited());
  EXPECT_NEAR(used_beside(half, 0.5, 20), 0.125, 0.01);
  EXPECT_FALSE(half.spent());
  runtime::Pace alone = of_one_processor();
  EXPECT_NEAR(used_beside(alone, 0, 20), 0.25, 0.02);
}

TEST_F(PaceTest, WhereOthersUseItUpNothingIsLeft) {
  runtime::Pace none = of_one_processor();
  EXPECT_LT(used_beside(none, 1, 20), 0.02);
  EXPECT_TRUE(none.spent());
}

TEST_F(PaceTest, PeaksAreRememberedForAWhile) {
  runtime::Pace after = of_one_processor();
  after.due(0, 0, 0);
  double others = 0;
  for (double now = 0.25; now <= 10; now += 0.25) after.due(now, 0, others += 0.25 * 0.1);
  const double before = after.share();
  after.due(10.25, 0, others += 0.25 * 0.9);
  EXPECT_LT(after.share(), before / 4);
  after.due(10.5, 0, others += 0.25 * 0.1);
  EXPECT_LT(after.share(), before / 2);
  for (double now = 10.75; now < 30; now += 0.25) after.due(now, 0, others += 0.25 * 0.1);
  EXPECT_NEAR(after.share(), before, 0.01);
}

TEST_F(PaceTest, ThrottlingHalvesItUntilItIsForgotten) {
  runtime::Pace blamed = of_one_processor();
  used_beside(blamed, 0, 20);
  const double before = blamed.share();
  blamed.throttled();
  EXPECT_NEAR(blamed.share(), before / 2, 1e-9);
}

TEST_F(PaceTest, AThreadSleepsAsLongAsItsShareSays) {
  runtime::Pace real = of_one_processor();
  runtime::StopSignal stop;
  const auto start = std::chrono::steady_clock::now();
  const double used_start = runtime::seconds_of_thread();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (passed() < 3) real.wait(stop);
  // At most a quarter of a processor, and a turn; less where the machine is busy.
  EXPECT_LT(runtime::seconds_of_thread() - used_start, 3 * 0.25 + 0.1);
  stop.request();
  const double before = passed();
  real.wait(stop);
  EXPECT_LT(passed() - before, 0.4);
}

TEST(WorkerPace, AThreadThatNeverLooksKeepsToItsShare) {
  runtime::keep_to_share(0.25);
  const auto start = std::chrono::steady_clock::now();
  const double used_start = runtime::seconds_of_thread();
  constexpr double work = 0.25;
  while (runtime::seconds_of_thread() - used_start < work) {
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  runtime::keep_to_share(1);
  EXPECT_GT(seconds, work / 0.25 * 0.85);
  const double free_start = runtime::seconds_of_thread();
  while (runtime::seconds_of_thread() - free_start < 0.05) {
  }
}

}  // namespace
}  // namespace axrun::tests
