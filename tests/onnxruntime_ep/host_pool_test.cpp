#include "runtime/onnxruntime_ep/host_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/onnxruntime_ep/fake_host.h"

namespace axrun::ort {
namespace {

/// A host whose parallel loop has three threads; what it was asked for.
struct Loops {
  static inline std::atomic<int> calls{0};
};

void answer_with_threads(FakeHost& host) {
  Loops::calls = 0;
  host.set(
      context_parallel_for,
      +[](const KernelContext*, void (*body)(void*, std::size_t), std::size_t count, std::size_t,
          void* state) -> Status* {
        ++Loops::calls;
        std::atomic<std::size_t> next{0};
        const auto work = [&] {
          for (std::size_t k = next++; k < count; k = next++) body(state, k);
        };
        std::thread first(work), second(work);
        work();
        first.join();
        second.join();
        return nullptr;
      });
}

const KernelContext* const context = reinterpret_cast<const KernelContext*>(&Loops::calls);

class HostPoolTest : public testing::Test {
 protected:
  HostPoolTest() : fake_("1.30.0"), host_(fake_.base()), pool_(make_host_pool(host_, 3)) {
    answer_with_threads(fake_);
  }

  FakeHost fake_;
  Host host_;
  std::unique_ptr<runtime::ThreadPool> pool_;
};

TEST_F(HostPoolTest, EveryIndexIsVisitedOnceOnTheHostsThreads) {
  std::vector<std::atomic<int>> visits(1000);
  const RunScope scope(context);
  pool_->parallel_for(1000, 10, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) ++visits[static_cast<std::size_t>(k)];
  });
  for (const auto& count : visits) EXPECT_EQ(count, 1);
  EXPECT_EQ(Loops::calls, 1);
}

TEST_F(HostPoolTest, OutsideOfARunEverythingIsInline) {
  const std::thread::id here = std::this_thread::get_id();
  int parts = 0;
  pool_->parallel_for(1000, 10, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(end - begin, 1000);
    ++parts;
  });
  EXPECT_EQ(parts, 1);
  EXPECT_EQ(Loops::calls, 0);
  { const RunScope scope(context); }
  pool_->parallel_for(1000, 10, [](std::int64_t, std::int64_t) {});
  EXPECT_EQ(Loops::calls, 0) << "the run is over";
}

TEST_F(HostPoolTest, WorkWithinWorkStaysWhereItIs) {
  std::atomic<std::int64_t> sum{0};
  const RunScope scope(context);
  pool_->parallel_for(30, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::thread::id here = std::this_thread::get_id();
    pool_->parallel_for((end - begin) * 100, 1, [&](std::int64_t from, std::int64_t to) {
      EXPECT_EQ(std::this_thread::get_id(), here);
      sum += to - from;
    });
  });
  EXPECT_EQ(sum, 3000);
  EXPECT_EQ(Loops::calls, 1);
  // The calling thread is still in its run.
  pool_->parallel_for(30, 1, [](std::int64_t, std::int64_t) {});
  EXPECT_EQ(Loops::calls, 2);
}

TEST_F(HostPoolTest, ExceptionsDoNotCrossTheHost) {
  const RunScope scope(context);
  EXPECT_THROW(
      pool_->parallel_for(100, 1, [](std::int64_t, std::int64_t) { throw std::runtime_error("stop"); }),
      std::runtime_error);
  int parts = 0;
  pool_->parallel_for(1, 1, [&](std::int64_t, std::int64_t) { ++parts; });
  EXPECT_EQ(parts, 1);
}

TEST_F(HostPoolTest, AHostThatFailsIsAnError) {
  static FakeHost* fake;
  fake = &fake_;
  fake_.set(
      context_parallel_for,
      +[](const KernelContext*, void (*)(void*, std::size_t), std::size_t, std::size_t, void*) -> Status* {
        return function_of(fake->base()->get_api(30), create_status)(1, "no threads");
      });
  const RunScope scope(context);
  EXPECT_THROW(pool_->parallel_for(100, 1, [](std::int64_t, std::int64_t) {}), HostError);
  EXPECT_EQ(fake_.statuses, 0);
}

TEST_F(HostPoolTest, WorkersThatRunTogetherHaveDifferentNumbers) {
  std::vector<std::atomic<int>> inside(3);
  const RunScope scope(context);
  pool_->parallel_for_workers(300, 1, [&](std::int64_t worker, std::int64_t, std::int64_t) {
    ASSERT_LT(worker, 3);
    EXPECT_EQ(inside[static_cast<std::size_t>(worker)]++, 0);
    std::this_thread::yield();
    --inside[static_cast<std::size_t>(worker)];
  });
}

}  // namespace
}  // namespace axrun::ort
