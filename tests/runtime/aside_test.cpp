#include "runtime/aside.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

namespace axrun::runtime {
namespace {

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST(Aside, GoesOnWhileOthersDo) {
  std::atomic<bool> may_end{false};
  Aside aside([&] {
    while (!may_end) std::this_thread::yield();
  });
  may_end = true;  // not reached where it is done before
  aside.wait();
  aside.wait();
}

TEST(Aside, IsSeenByEverybodyWhoWaits) {
  int64_t made = 0;
  Aside aside([&] {
    rest();
    made = 7;
  });
  std::vector<std::thread> threads;
  std::atomic<int64_t> sum{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      aside.wait();
      sum += made;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 28);
}

TEST(Aside, EndsBeforeItsObject) {
  bool made = false;
  {
    Aside aside([&] {
      rest();
      made = true;
    });
  }
  EXPECT_TRUE(made);
}

TEST(Aside, AForkedChildFindsItDone) {
  std::atomic<bool> made{false};
  Aside aside([&] {
    rest();
    made = true;
  });
  const pid_t child = fork();
  if (child == 0) {
    aside.wait();
    _exit(made ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(made);
}

}  // namespace
}  // namespace axrun::runtime
