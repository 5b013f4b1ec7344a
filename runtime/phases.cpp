#include "runtime/phases.h"

#include <sched.h>

#include <algorithm>
#include <atomic>

namespace axrun::runtime {
namespace {

constexpr size_t cache_line = 64;

/// Part number `k` in the order of a step.
int64_t to_and_fro(int64_t step, int64_t k, int64_t count) { return step % 2 == 0 ? k : count - 1 - k; }

/// Spins for some microseconds, what the end of another thread's part may take, then gives way: that thread
/// may be waiting for this processor.
class Patience {
 public:
  void wait() {
    if (spins_ < most_spins) {
      ++spins_;
      __builtin_ia32_pause();
    } else {
      sched_yield();
    }
  }

 private:
  static constexpr int most_spins = 400;
  int spins_ = 0;
};

class Region {
 public:
  Region(int64_t workers, const Phases& phases, PhaseBody body)
      : workers_(workers), phases_(phases), body_(body) {}

  void work(int64_t worker) {
    const int64_t all = phases_.steps * phases_.phases_per_step;
    int64_t phase = finished_.load(std::memory_order_acquire) / phases_.parts;
    while (phase < all) {
      int64_t done = 0;
      for (int64_t k = 0; k < workers_; ++k) done += take_from((worker + k) % workers_, worker, phase);
      // The release sequence of these additions hands every part's results to whoever sees the sum.
      if (done > 0) finished_.fetch_add(done, std::memory_order_release);
      const int64_t next = (phase + 1) * phases_.parts;
      int64_t seen = 0;
      for (Patience patience; (seen = finished_.load(std::memory_order_acquire)) < next;) patience.wait();
      phase = seen / phases_.parts;
    }
  }

 private:
  /// The parts that are first of all one worker's: how many of them have been begun, those of all phases
  /// together. A thread that is late, and still in an earlier phase, finds none of that phase left.
  struct alignas(cache_line) Share {
    std::atomic<int64_t> begun{0};
  };

  int64_t first_of(int64_t owner) const { return owner * phases_.parts / workers_; }

  /// Does what is left of `owner`'s parts in this phase; how many it was.
  int64_t take_from(int64_t owner, int64_t worker, int64_t phase) {
    const int64_t first = first_of(owner), count = first_of(owner + 1) - first;
    const int64_t step = phase / phases_.phases_per_step;
    std::atomic<int64_t>& begun = shares_[owner].begun;
    int64_t done = 0;
    int64_t next = begun.load(std::memory_order_relaxed);
    while (next < (phase + 1) * count) {
      if (!begun.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) continue;
      body_(worker, step, phase % phases_.phases_per_step,
            first + to_and_fro(step, next - phase * count, count));
      ++done;
      next = begun.load(std::memory_order_relaxed);
    }
    return done;
  }

  const int64_t workers_;
  const Phases phases_;
  const PhaseBody body_;
  alignas(cache_line) std::atomic<int64_t> finished_{0};  ///< parts, of all phases together
  Share shares_[Phases::most_workers];
};

}  // namespace

void run_phases_in_turn(const Phases& phases, PhaseBody body) {
  for (int64_t step = 0; step < phases.steps; ++step) {
    for (int64_t phase = 0; phase < phases.phases_per_step; ++phase) {
      for (int64_t k = 0; k < phases.parts; ++k) body(0, step, phase, to_and_fro(step, k, phases.parts));
    }
  }
}

void run_phases(ThreadPool& pool, int64_t workers, const Phases& phases, PhaseBody body) {
  workers = std::min<int64_t>({workers, pool.threads(), phases.parts, Phases::most_workers});
  if (workers <= 1) return run_phases_in_turn(phases, body);
  pool.spread_phases(workers, phases, body);
}

void ThreadPool::spread_phases(int64_t workers, const Phases& phases, PhaseBody body) {
  Region region(workers, phases, body);
  parallel_for(workers, 1, [&](int64_t first, int64_t last) {
    for (int64_t worker = first; worker < last; ++worker) region.work(worker);
  });
}

}  // namespace axrun::runtime
