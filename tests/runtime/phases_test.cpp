#include "runtime/phases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <tuple>
#include <vector>

namespace axrun::runtime {
namespace {

class PhasesTest : public testing::TestWithParam<ParallelBackend> {};

/// Every part hashes what all parts of the phase before it have left, in plain memory: what comes out depends
/// on any that was missing, done twice or not seen.
std::vector<uint64_t> run_hashes(ThreadPool& pool, int64_t workers, const Phases& phases) {
  const auto parts = static_cast<size_t>(phases.parts);
  std::vector<uint64_t> values[2] = {std::vector<uint64_t>(parts, 1), std::vector<uint64_t>(parts, 2)};
  std::atomic<int> busy[Phases::most_workers] = {};
  run_phases(pool, workers, phases, [&](int64_t worker, int64_t step, int64_t phase, int64_t part) {
    EXPECT_LT(worker, std::max<int64_t>(workers, 1));
    EXPECT_EQ(busy[worker].fetch_add(1), 0);
    const int64_t number = step * phases.phases_per_step + phase;
    const std::vector<uint64_t>& before = values[number % 2];
    uint64_t hash = static_cast<uint64_t>(number * 1000 + part);
    for (const uint64_t value : before) hash = (hash ^ value) * 0x9e3779b97f4a7c15ULL;
    uint64_t& after = values[(number + 1) % 2][static_cast<size_t>(part)];
    after += hash;  // not the same when it is done twice
    busy[worker].fetch_sub(1);
  });
  return values[(phases.steps * phases.phases_per_step) % 2];
}

TEST_P(PhasesTest, NeitherThreadsNorWorkersChangeTheResult) {
  const auto one = ThreadPool::make(1, GetParam());
  for (const int threads : {1, 2, 3, 4, 7}) {
    const auto pool = ThreadPool::make(threads, GetParam());
    for (const int64_t parts : {1, 2, 3, 5, 16, 67}) {
      for (const int64_t phases_per_step : {1, 2}) {
        const Phases phases{37, phases_per_step, parts};
        const std::vector<uint64_t> wanted = run_hashes(*one, 1, phases);
        EXPECT_EQ(wanted, run_hashes(*pool, threads, phases)) << threads << " threads, " << parts << " parts";
        EXPECT_EQ(wanted, run_hashes(*pool, 2, phases));
      }
    }
  }
}

TEST_P(PhasesTest, NothingToDo) {
  const auto pool = ThreadPool::make(3, GetParam());
  run_phases(*pool, 3, {0, 2, 8}, [](int64_t, int64_t, int64_t, int64_t) { FAIL(); });
}

/// Many more threads than processors, in a few requests at once, within other parallel work.
TEST_P(PhasesTest, EndsWhereThreadsAreNotThere) {
  const auto pool = ThreadPool::make(8, GetParam());
  const auto one = ThreadPool::make(1, GetParam());
  const Phases phases{60, 1, 24};
  const std::vector<uint64_t> wanted = run_hashes(*one, 1, phases);
  std::vector<std::thread> requests;
  for (int request = 0; request < 3; ++request) {
    requests.emplace_back([&] {
      for (int repeat = 0; repeat < 3; ++repeat) {
        pool->parallel_for(4, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) EXPECT_EQ(wanted, run_hashes(*pool, 8, phases));
        });
      }
    });
  }
  for (std::thread& request : requests) request.join();
}

/// The pool's other thread is in work that does not end before this region has.
TEST_P(PhasesTest, OneThreadDoesEverything) {
  const auto pool = ThreadPool::make(2, GetParam());
  std::atomic<bool> begun{false}, done{false};
  int64_t calls = 0;
  pool->parallel_for(2, 1, [&](int64_t, int64_t) {
    if (begun.exchange(true)) {
      while (!done) std::this_thread::yield();
      return;
    }
    const std::thread::id me = std::this_thread::get_id();
    std::atomic<int64_t> by_others{0};
    run_phases(*pool, 2, {50, 1, 6}, [&](int64_t, int64_t, int64_t, int64_t) {
      std::this_thread::get_id() == me ? static_cast<void>(++calls) : static_cast<void>(++by_others);
    });
    calls += by_others;
    done = true;
  });
  EXPECT_EQ(calls, 50 * 6);
}

/// One thread goes through its parts to and fro: what it did last is what it does first.
TEST_P(PhasesTest, EveryOtherStepGoesBackwards) {
  const auto pool = ThreadPool::make(1, GetParam());
  std::vector<std::tuple<int64_t, int64_t, int64_t>> calls, wanted;
  run_phases(*pool, 4, {3, 2, 3}, [&](int64_t worker, int64_t step, int64_t phase, int64_t part) {
    EXPECT_EQ(worker, 0);
    calls.emplace_back(step, phase, part);
  });
  for (int64_t step = 0; step < 3; ++step) {
    for (int64_t phase = 0; phase < 2; ++phase) {
      for (int64_t k = 0; k < 3; ++k) wanted.emplace_back(step, phase, step == 1 ? 2 - k : k);
    }
  }
  EXPECT_EQ(calls, wanted);
}

INSTANTIATE_TEST_SUITE_P(Backends, PhasesTest,
                         testing::Values(ParallelBackend::tbb, ParallelBackend::threads),
                         [](const testing::TestParamInfo<ParallelBackend>& info) {
                           return info.param == ParallelBackend::tbb ? "tbb" : "threads";
                         });

}  // namespace
}  // namespace axrun::runtime
