#pragma once

#include <cstdint>

#include "runtime/parallel.h"

namespace axrun::runtime {

/// Works out how long several threads would take, with the calling thread alone: ranges run one after
/// another, each is timed and given to the worker that would be free first. What threads do to each other's
/// caches and memory is not seen; but neither does it matter who else has the processors at the time: it is
/// the calling thread's own time that counts.
class EstimatingPool final : public ThreadPool {
 public:
  explicit EstimatingPool(int threads) : ThreadPool(threads) {}

  /// Seconds that the threads would have spared since the last call, less what handing work over costs.
  double take_spared();
  /// Seconds since the last call that only went into looking at the time.
  double take_looking();

  void parallel_for_workers(int64_t count, int64_t grain, WorkerBody body) override;

 private:
  void spread(int64_t count, int64_t grain, RangeBody body) override;
  /// Parts of a phase are taken to be alike.
  void spread_phases(int64_t workers, const Phases& phases, PhaseBody body) override;

  bool inside_ = false;  ///< of a range: workers that have one of their own help nobody
  double spared_ = 0;
  int64_t looks_ = 0;
};

}  // namespace axrun::runtime
