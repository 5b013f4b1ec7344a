#include "runtime/optimizer/estimating_pool.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/chunks.h"
#include "runtime/optimizer/thread_time.h"
#include "runtime/phases.h"

namespace axrun::runtime {
namespace {

/// What it takes to hand ranges to other threads, and to wait for the last of them. Measured: 1 to 4 us where
/// they are awake, 10 and more where they have had nothing to do for 100.
constexpr double handing_over_seconds = 5e-6;
/// What a phase's end takes, until everybody knows of it: a few cache lines that go from core to core.
constexpr double phase_end_seconds = 0.4e-6;

/// For the length of a range: workers that have one of their own help nobody.
struct Inside {
  bool& inside;
  explicit Inside(bool& flag) : inside(flag) { inside = true; }
  ~Inside() { inside = false; }
};

}  // namespace

double EstimatingPool::take_spared() { return std::exchange(spared_, 0); }

double EstimatingPool::take_looking() {
  return static_cast<double>(std::exchange(looks_, 0)) * seconds_to_look();
}

void EstimatingPool::spread(int64_t count, int64_t grain, RangeBody body) {
  parallel_for_workers(count, grain, [&](int64_t, int64_t begin, int64_t end) { body(begin, end); });
}

void EstimatingPool::parallel_for_workers(int64_t count, int64_t grain, WorkerBody body) {
  if (count <= 0) return;
  if (inside_ || threads() == 1 || count <= grain) return body(0, 0, count);
  const Inside inside(inside_);
  const Chunks chunks(count, std::max<int64_t>(grain, 1), threads());
  std::vector<double> busy(static_cast<size_t>(threads()), 0);
  const double looking = seconds_to_look();
  double before = seconds_of_thread();
  for (int64_t chunk = 0; chunk < chunks.number; ++chunk) {
    const auto free = std::min_element(busy.begin(), busy.end());
    body(free - busy.begin(), chunks.begin(chunk), chunks.end(chunk));
    const double after = seconds_of_thread();
    *free += std::max(0.0, after - before - looking);
    before = after;
  }
  looks_ += chunks.number + 1;
  const double all = std::accumulate(busy.begin(), busy.end(), 0.0);
  spared_ += all - *std::max_element(busy.begin(), busy.end()) - handing_over_seconds;
}

void EstimatingPool::spread_phases(int64_t workers, const Phases& phases, PhaseBody body) {
  if (inside_) return run_phases_in_turn(phases, body);
  const Inside inside(inside_);
  const double before = seconds_of_thread();
  run_phases_in_turn(phases, body);
  const double all = std::max(0.0, seconds_of_thread() - before - seconds_to_look());
  looks_ += 2;
  const int64_t most = (phases.parts + workers - 1) / workers;
  const auto ends = static_cast<double>(phases.steps * phases.phases_per_step);
  spared_ += all * (1 - static_cast<double>(most) / static_cast<double>(phases.parts)) -
             handing_over_seconds - ends * phase_end_seconds;
}

}  // namespace axrun::runtime
