#include "runtime/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace axrun::runtime {
namespace {

class Parallel : public testing::TestWithParam<ParallelBackend> {};

TEST_P(Parallel, CoversEachIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    const auto pool = ThreadPool::make(threads, GetParam());
    ASSERT_EQ(pool->threads(), threads);
    for (const int64_t count : {0, 1, 2, 7, 100, 1001}) {
      for (const int64_t grain : {0, 1, 3, 64, 5000}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
        pool->parallel_for(count, grain, [&](int64_t begin, int64_t end) {
          EXPECT_LT(begin, end);
          EXPECT_TRUE(end == count || end - begin >= grain);
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        });
        for (const auto& times : seen) EXPECT_EQ(times, 1);
      }
    }
  }
}

TEST_P(Parallel, WorkersNeverShareANumber) {
  const auto pool = ThreadPool::make(4, GetParam());
  std::atomic<int> busy[4] = {};
  std::atomic<int64_t> total{0};
  pool->parallel_for_workers(5000, 1, [&](int64_t worker, int64_t begin, int64_t end) {
    ASSERT_LT(worker, 4);
    EXPECT_EQ(busy[worker].fetch_add(1), 0);
    total += end - begin;
    busy[worker].fetch_sub(1);
  });
  EXPECT_EQ(total, 5000);
}

/// What a worker does first is its own share of neighbours.
TEST_P(Parallel, WorkersBeginWithTheSameShareInEveryCall) {
  const auto pool = ThreadPool::make(4, GetParam());
  for (int repeat = 0; repeat < 20; ++repeat) {
    int64_t first[4] = {-1, -1, -1, -1};
    std::atomic<int> seen[160] = {};
    pool->parallel_for_workers(160, 1, [&](int64_t worker, int64_t begin, int64_t end) {
      if (first[worker] < 0) first[worker] = begin;
      for (int64_t i = begin; i < end; ++i) ++seen[i];
    });
    for (const auto& times : seen) EXPECT_EQ(times, 1);
    // Who comes late finds only what is left of it, or nothing.
    bool on_time = false;
    for (int64_t worker = 0; worker < 4; ++worker) on_time |= first[worker] == 40 * worker;
    EXPECT_TRUE(on_time);
  }
}

TEST_P(Parallel, RethrowsAndStaysUsable) {
  const auto pool = ThreadPool::make(3, GetParam());
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_THROW(pool->parallel_for(1000, 1,
                                    [&](int64_t begin, int64_t end) {
                                      if (begin <= 500 && 500 < end) throw std::runtime_error("expected");
                                    }),
                 std::runtime_error);
    std::atomic<int64_t> sum{0};
    pool->parallel_for(1000, 1, [&](int64_t begin, int64_t end) { sum += end - begin; });
    EXPECT_EQ(sum, 1000);
  }
}

TEST_P(Parallel, NestsAndServesSeveralRequestThreads) {
  const auto pool = ThreadPool::make(3, GetParam());
  std::vector<std::thread> requests;
  std::atomic<int64_t> sum{0};
  for (int request = 0; request < 6; ++request) {
    requests.emplace_back([&] {
      for (int repeat = 0; repeat < 30; ++repeat) {
        pool->parallel_for(8, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            pool->parallel_for(
                16, 1, [&](int64_t inner_begin, int64_t inner_end) { sum += inner_end - inner_begin; });
          }
        });
      }
    });
  }
  for (std::thread& request : requests) request.join();
  EXPECT_EQ(sum, 6 * 30 * 8 * 16);
}

INSTANTIATE_TEST_SUITE_P(Backends, Parallel, testing::Values(ParallelBackend::tbb, ParallelBackend::threads),
                         [](const auto& info) {
                           return info.param == ParallelBackend::tbb ? "tbb" : "threads";
                         });

}  // namespace
}  // namespace axrun::runtime
