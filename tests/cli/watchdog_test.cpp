// How the process ends when its time is up.
#include "runtime/cli/watchdog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/cli/options.h"

namespace axrun::cli {
namespace {

/// Longer than any test: the watchdog's thread ends the process.
void wait_for_the_end() { std::this_thread::sleep_for(std::chrono::minutes(10)); }

TEST(WatchdogDeathTest, WithoutAnAnswerItIsAFailure) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto late = [](bool json) {
    std::setvbuf(stdout, nullptr, _IONBF, 0);
    if (json) dup2(STDERR_FILENO, STDOUT_FILENO);
    const Watchdog watchdog(0.05, json);
    wait_for_the_end();
  };
  EXPECT_EXIT(late(false), testing::ExitedWithCode(exit_timeout),
              "^axrun: error: not finished after 0.05 s\n$");
  EXPECT_EXIT(late(true), testing::ExitedWithCode(exit_timeout),
              "\"error\":\\{\"fault\":\"deadline\",\"message\":\"not finished after 0.05 "
              "s\"\\},\"exit_code\":124\\}");
}

TEST(WatchdogDeathTest, AnAnswerOutlivesIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watchdog watchdog(0.05, true);
        watchdog.answered(exit_mismatch, [] { std::fputs("the verdict\n", stderr); });
        wait_for_the_end();
      },
      testing::ExitedWithCode(exit_mismatch), "^the verdict\n$");
}

TEST(WatchdogDeathTest, StoppedItEndsNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Watchdog watchdog(0.05, false);
        watchdog.stop();
        watchdog.stop();
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        std::fputs("alive\n", stderr);
        std::_Exit(exit_ok);
      },
      testing::ExitedWithCode(exit_ok), "^alive\n$");
  EXPECT_EQ(Watchdog(std::nullopt, false).deadline(), std::chrono::steady_clock::time_point::max());
}

}  // namespace
}  // namespace axrun::cli
