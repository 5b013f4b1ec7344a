#pragma once

#include <cstdint>

#include "runtime/parallel.h"

namespace axrun::runtime {

/// Work whose phases follow one another, each in parts that may run side by side: a recurrence's steps, where
/// a phase is a step (or, with `phases_per_step`, a part of one) and every part computes some of the units.
struct Phases {
  int64_t steps = 0;
  int64_t phases_per_step = 1;
  int64_t parts = 1;  ///< of every phase

  static constexpr int most_workers = 64;
};

/// Calls `body(worker, step, phase, part)` once for each; a phase begins when all parts of the one before it
/// have ended, and sees what they wrote. Calls at the same time have different `worker` numbers, below
/// `workers`. `body` must not throw.
///
/// It is one parallel region: a part stays with the same thread from step to step, so that what it reads
/// stays in that core's cache, and every other step goes through a thread's parts backwards: where they are
/// more than a cache holds, the last ones of a step are still there for the next.
///
/// No thread waits for one that has not come (the pool may have nobody to spare): whoever has done its own
/// parts of a phase takes those that nobody has begun, and waits only for parts that another thread is in.
/// One thread alone does everything. Never allocates.
void run_phases(ThreadPool& pool, int64_t workers, const Phases& phases, PhaseBody body);

/// The same on the calling thread, as worker 0.
void run_phases_in_turn(const Phases& phases, PhaseBody body);

}  // namespace axrun::runtime
