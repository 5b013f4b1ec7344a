#include "runtime/optimizer/estimating_pool.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "runtime/optimizer/paired_rounds.h"
#include "runtime/phases.h"

namespace axrun::runtime {
namespace {

/// Of wall time, so that it takes as long whatever else runs here.
void spend(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
  }
}

constexpr double piece_seconds = 5e-4;

void in_pieces(ThreadPool& pool, int64_t pieces) {
  pool.parallel_for_workers(pieces, 1, [&](int64_t, int64_t begin, int64_t end) {
    spend(piece_seconds * static_cast<double>(end - begin));
  });
}

/// Whether one of a few calls, which others may disturb, spares a number of pieces between these two.
bool spares(EstimatingPool& pool, double least, double most, const std::function<void()>& run) {
  for (int call = 0; call < 100; ++call) {
    run();
    const double spared = pool.take_spared() / piece_seconds;
    if (least < spared && spared < most) return true;
  }
  return false;
}

/// Every phase is a joint: what one thread would do is not one range.
TEST(EstimatingPool, PhasesAreSpread) {
  EstimatingPool pool(2);
  EXPECT_TRUE(spares(pool, 9, 11, [&] {
    run_phases(pool, 2, {5, 1, 4}, [](int64_t, int64_t, int64_t, int64_t) { spend(piece_seconds); });
  }));
}

TEST(EstimatingPool, CoversEachIndexOnceInOneThread) {
  EstimatingPool pool(3);
  for (const int64_t count : {0, 1, 2, 7, 100}) {
    std::vector<int> seen(static_cast<size_t>(count), 0);
    pool.parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    pool.parallel_for_workers(count, 2, [&](int64_t worker, int64_t begin, int64_t end) {
      EXPECT_GE(worker, 0);
      EXPECT_LT(worker, 3);
      for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    });
    for (const int times : seen) EXPECT_EQ(times, 2);
  }
}

TEST(EstimatingPool, TwoThreadsSpareHalfOfEvenWork) {
  EstimatingPool pool(2);
  EXPECT_TRUE(spares(pool, 3.8, 4.2, [&] { in_pieces(pool, 8); }));
  EXPECT_EQ(pool.take_spared(), 0);
}

TEST(EstimatingPool, WhatOnePieceTakesIsSparedByNobody) {
  EstimatingPool pool(2);
  in_pieces(pool, 1);
  EXPECT_EQ(pool.take_spared(), 0);
  // Of three pieces two are one worker's.
  EXPECT_TRUE(spares(pool, 0.8, 1.2, [&] { in_pieces(pool, 3); }));
}

TEST(EstimatingPool, HandingNothingOverCosts) {
  EstimatingPool pool(2);
  pool.parallel_for(2, 1, [](int64_t, int64_t) {});
  EXPECT_LT(pool.take_spared(), 0);
}

TEST(EstimatingPool, RangesInsideOfRangesAreTheirWorkersOwn) {
  EstimatingPool pool(2);
  EXPECT_TRUE(spares(pool, 1.8, 2.2,
                     [&] { pool.parallel_for(2, 1, [&](int64_t, int64_t) { in_pieces(pool, 2); }); }));
}

TEST(EstimatingPool, StaysUsableAfterAFailure) {
  EstimatingPool pool(2);
  EXPECT_THROW(pool.parallel_for(4, 1, [](int64_t, int64_t) { throw std::runtime_error("expected"); }),
               std::runtime_error);
  EXPECT_TRUE(spares(pool, 3.8, 4.2, [&] { in_pieces(pool, 8); }));
}

TEST(ThreadsFactor, WeighsWhatThreadsSpare) {
  const StopSignal stop;
  const auto spread = [](ThreadPool& pool) { in_pieces(pool, 4); };
  const auto alone = [](ThreadPool&) { spend(4 * piece_seconds); };
  EXPECT_EQ(threads_factor(spread, alone, 1, stop), 1);
  // Each is the least of a few calls: hardly ever disturbed.
  const auto is_near = [&](double wanted, const auto& first, const auto& second) {
    for (int attempt = 0; attempt < 20; ++attempt) {
      if (std::abs(threads_factor(first, second, 2, stop) / wanted - 1) < 0.15) return true;
    }
    return false;
  };
  EXPECT_TRUE(is_near(0.5, spread, alone));
  EXPECT_TRUE(is_near(2, alone, spread));
  EXPECT_TRUE(is_near(1, spread, spread));
}

}  // namespace
}  // namespace axrun::runtime
