#include "perf/limits/best_rate.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace axrun::perf {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double batch_seconds = 0.5e-3;
constexpr double warm_up_seconds = 0.03;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Threads that meet. They spin: one that slept would come late, and with a cold processor.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait() {
    const std::uint64_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    // A thread that shares its processor must let the others get here at all.
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
      if (spins < 100'000) {
        __builtin_ia32_pause();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  int threads_;
  std::atomic<int> arrived_ = 0;
  std::atomic<std::uint64_t> round_ = 0;
};

void pin(int processor) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(static_cast<std::size_t>(processor), &mask);
  pthread_setaffinity_np(pthread_self(), sizeof mask, &mask);  // refused: unpinned, which only costs batches
}

struct Span {
  Clock::time_point begin, end;
};

class Measurement {
 public:
  Measurement(const std::vector<int>& processors, const Work& work, double seconds)
      : processors_(processors),
        work_(work),
        seconds_(seconds),
        barrier_(static_cast<int>(processors.size())),
        spans_(processors.size()) {}

  double run() {
    std::vector<std::thread> threads;
    for (int k = 0; k < static_cast<int>(processors_.size()); ++k)
      threads.emplace_back([this, k] { thread(k); });
    for (std::thread& thread : threads) thread.join();
    return best_;
  }

 private:
  void thread(int k) {
    pin(processors_[static_cast<std::size_t>(k)]);
    if (work_.prepare) work_.prepare(k);
    barrier_.wait();
    const double call_seconds = warm_up(k);
    if (k == 0) {
      calls_ = std::max(1, static_cast<int>(batch_seconds / call_seconds));
      start_ = Clock::now();
    }
    do {
      barrier_.wait();
      Span& span = spans_[static_cast<std::size_t>(k)];
      span.begin = Clock::now();
      for (int call = 0; call < calls_; ++call) work_.run(k);
      span.end = Clock::now();
      barrier_.wait();
      if (k == 0) conclude_batch();
      barrier_.wait();
    } while (!done_);
  }

  /// Keeps the thread busy; the fastest call's time.
  double warm_up(int k) {
    double fastest = 1;
    const Clock::time_point start = Clock::now();
    do {
      const Clock::time_point call = Clock::now();
      work_.run(k);
      fastest = std::min(fastest, seconds_since(call));
    } while (seconds_since(start) < warm_up_seconds);
    return fastest;
  }

  void conclude_batch() {
    Span whole = spans_[0];
    for (const Span& span : spans_) {
      whole.begin = std::min(whole.begin, span.begin);
      whole.end = std::max(whole.end, span.end);
    }
    const double elapsed = std::chrono::duration<double>(whole.end - whole.begin).count();
    best_ = std::max(best_, work_.amount * calls_ * static_cast<double>(spans_.size()) / elapsed);
    ++batches_;
    done_ = batches_ >= least_batches && seconds_since(start_) > seconds_;
  }

  static constexpr int least_batches = 5;
  const std::vector<int>& processors_;
  const Work& work_;
  double seconds_;
  Barrier barrier_;
  std::vector<Span> spans_;
  Clock::time_point start_;
  int calls_ = 1;  // this and what follows belong to thread 0 between barriers
  int batches_ = 0;
  double best_ = 0;
  bool done_ = false;
};

}  // namespace

double best_rate(const std::vector<int>& processors, const Work& work, double seconds) {
  return Measurement(processors, work, seconds).run();
}

}  // namespace axrun::perf
