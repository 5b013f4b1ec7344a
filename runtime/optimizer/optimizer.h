#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/optimizer/background.h"
#include "runtime/optimizer/chosen_layouts.h"
#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer/load_programs.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/optimizer/status_board.h"
#include "runtime/optimizer_status.h"
#include "runtime/plan/state_buffers.h"

namespace axrun::runtime {

class WarmStart;

/// Makes the plans of a session better while it runs. For every set of shapes that runs meet: the steps of
/// its plan, heaviest first, become expressions; each is lowered, proved, tested and timed in the worker, and
/// compared with the kernel that is there; a plan with the better kernels is built aside, measured against
/// the one in force, and put in force by one store. Where real runs turn out slower the plan before comes
/// back.
class Optimizer {
 public:
  /// warm: what it starts from and leaves; may be null.
  Optimizer(OptimizerHost host, OptimizerSettings settings, LoadTimeWork load = {},
            std::shared_ptr<WarmStart> warm = {});
  /// Stops its thread, whatever it is doing.
  ~Optimizer();

  /// What the session's plans ask for kernels.
  const std::shared_ptr<KernelLibrary>& library() const { return library_; }
  /// The layouts that plans had better have.
  ChosenLayouts& layouts() { return layouts_; }

  /// Whether a run of this plan is to be timed and told: not where nothing is left to be done for it. What
  /// the run itself brings to light, plans of bodies, is left for the next one.
  bool wants(const Plan& plan) const {
    return busy_with_plans_.load(std::memory_order_relaxed) || may_get_better(plan);
  }
  /// After a run that is not told.
  void answered() {
    if (!answered_.load(std::memory_order_relaxed)) answered_ = true;
  }
  /// After each run that is, by whatever thread; the plan must still be pinned. Nearly always an atomic
  /// increment: the first run of a plan that may get better, and every one that is a power of two, leaves its
  /// inputs. The first run of all leaves nothing: its answer does not wait for a copy and a new thread.
  void ran(const Plan& plan, const std::vector<RuntimeValue>& inputs, double microseconds) {
    const uint64_t runs = plan.times().add(static_cast<float>(microseconds));
    if ((runs & (runs - 1)) == 0 && may_get_better(plan) && answered_.exchange(true)) offer(inputs);
    if (background_.lost()) restart();
  }

  /// After this no plan is swapped any more, and the optimiser's thread is gone.
  void freeze();
  /// Until nothing is left to do; false when the time is over before.
  bool wait(double seconds) const;
  OptimizerStatus status() const;
  /// What the session has packed itself, beside what the cache has of the same. Not while runs go on.
  PackedComparison compare_packed() const;

 private:
  bool may_get_better(const Plan& plan) const {
    return plan.open_steps() > 0 ||
           (bilinear_is_open_.load(std::memory_order_relaxed) && plan.graph().limits == nullptr);
  }
  /// In the order in which a fork takes them.
  std::vector<std::mutex*> shared_locks();
  /// Leaves what is known for the next session. On the optimiser's thread. last: there is no other time.
  void keep(const Background::Place& place, bool settled, bool last = false);
  /// Once, to the log.
  void tell_what_is_not_stored();
  void offer(const std::vector<RuntimeValue>& inputs);
  void restart();
  void work(const Background::Place& place);
  /// Takes the next job; busy_without: there is something to do without one.
  bool next(OptimizerJob& job, bool busy_without);

  const OptimizerHost host_;
  const std::vector<StateBuffer> state_buffers_;  ///< among its inputs
  const OptimizerSettings settings_;
  std::shared_ptr<KernelLibrary> library_;
  ChosenLayouts layouts_;
  /// Whether there are bilinear algorithms that are faster has not been looked at.
  std::atomic<bool> bilinear_is_open_;
  const std::shared_ptr<WarmStart> warm_;
  StatusBoard board_;
  LoadPrograms load_programs_;
  bool told_not_stored_ = false;  ///< on its thread
  mutable std::mutex mutex_;
  std::deque<OptimizerJob> jobs_;
  bool busy_ = false;                  ///< a job has been taken and is not done, or load-time work is checked
  std::vector<ir::Shape> at_work_;     ///< the job's shapes
  std::atomic<bool> closed_{false};    ///< its thread has ended by itself
  std::atomic<bool> answered_{false};  ///< there has been a run
  /// Plans are being made, or a swap looked after: what runs take is of use.
  std::atomic<bool> busy_with_plans_{false};
  Bell bell_;              ///< rung for new jobs
  Background background_;  ///< last: its thread uses all of the above
};

}  // namespace axrun::runtime
