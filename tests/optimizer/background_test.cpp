#include "runtime/optimizer/background.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <thread>

#include "runtime/machine.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using std::chrono::milliseconds;

bool comes_true(const std::function<bool()>& condition) {
  for (int k = 0; k < 6000 && !condition(); ++k) std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

TEST(Background, WorksAtTheLowestPriorityOnItsOwnThreads) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  bool low = true;
  std::atomic<bool> done{false};
  Background background({2, Standing::idle, {}}, [&](const Background::Place& place) {
    const int wanted = std::min(2, available_processors());
    EXPECT_EQ(place.pool.threads(), wanted);
    // Until every thread has been seen: which of them takes a range is up to the system.
    while (!place.stop.requested()) {
      place.pool.parallel_for(8, 1, [&](int64_t, int64_t) {
        const std::lock_guard lock(mutex);
        threads.insert(std::this_thread::get_id());
        low &= sched_getscheduler(0) == SCHED_IDLE || getpriority(PRIO_PROCESS, 0) == 19;
      });
      if (static_cast<int>(threads.size()) >= wanted) break;
    }
    done = true;
  });
  background.start();
  EXPECT_TRUE(comes_true([&] { return done.load(); }));
  background.stop();
  EXPECT_TRUE(low) << background.priority();
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
  EXPECT_EQ(static_cast<int>(threads.size()), std::min(2, available_processors()));
  EXPECT_NE(background.priority(), "");
}

TEST(Background, WhatIsAssuredIsGivenUpForGood) {
  std::string before, after;
  int niceness = 0, policy = 0;
  std::atomic<bool> done{false};
  Background background({1, Standing::assured, {}}, [&](const Background::Place& place) {
    EXPECT_TRUE(place.background.is_assured());
    before = place.background.priority();
    niceness = getpriority(PRIO_PROCESS, 0);
    place.background.become_idle();
    EXPECT_FALSE(place.background.is_assured());
    after = place.background.priority();
    policy = sched_getscheduler(0);
    done = true;
  });
  background.start();
  EXPECT_TRUE(comes_true([&] { return done.load(); }));
  background.stop();
  EXPECT_EQ(niceness == 10, before == "niceness 10, for the start") << before;
  EXPECT_EQ(after == "SCHED_IDLE", policy == SCHED_IDLE) << after;
  EXPECT_NE(after, before);
}

TEST(Background, SeveralThreadsAreIdleFromTheStart) {
  std::atomic<bool> done{false};
  Background background({2, Standing::assured, {}}, [&](const Background::Place& place) {
    EXPECT_FALSE(place.background.is_assured());
    EXPECT_TRUE(sched_getscheduler(0) == SCHED_IDLE || getpriority(PRIO_PROCESS, 0) == 19);
    done = true;
  });
  background.start();
  EXPECT_TRUE(comes_true([&] { return done.load(); }));
  background.stop();
}

TEST(Background, StopsAtOnceWhileItWaits) {
  std::atomic<bool> waiting{false};
  std::atomic<bool> stopped{false};
  Background background({1, Standing::idle, {}}, [&](const Background::Place& place) {
    waiting = true;
    stopped = place.stop.wait_for(std::chrono::hours(1));
  });
  background.start();
  ASSERT_TRUE(comes_true([&] { return waiting.load(); }));
  background.stop();
  EXPECT_TRUE(stopped);
  background.stop();  // again: nothing left to do
}

#if !defined(__SANITIZE_THREAD__)  // which forbids threads in a forked child
TEST(Background, AForkWaitsForThePieceAndTheChildCanStartAgain) {
  std::mutex shared;
  std::atomic<int> starts{0};
  std::atomic<bool> inside{false};
  Background background({1, Standing::idle, {&shared}}, [&](const Background::Place& place) {
    ++starts;
    while (!place.stop.requested()) {
      const Background::Piece piece(place.background);
      const std::lock_guard lock(shared);
      inside = true;
      std::this_thread::sleep_for(milliseconds(2));
      inside = false;
    }
  });
  background.start();
  ASSERT_TRUE(comes_true([&] { return starts.load() == 1; }));
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      // Nothing may be locked, and nothing be under way.
      const bool free = shared.try_lock();
      if (free) shared.unlock();
      if (!free || inside || !background.lost()) _exit(1);
      if (round == 0) {
        background.start();
        if (!comes_true([&] { return starts.load() == 2; })) _exit(2);
      }
      background.stop();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round << ", status " << status;
  }
  EXPECT_FALSE(background.lost());
  EXPECT_EQ(starts, 1);
}
#endif

}  // namespace
}  // namespace axrun::tests
