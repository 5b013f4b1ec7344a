#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jit/kernel_code.h"
#include "runtime/optimizer/background.h"
#include "runtime/optimizer/stop_signal.h"
#include "runtime/plan/plan.h"

// A plan with those nested in it: bodies of If, Loop and Scan, and continuations.

namespace axrun::runtime {

/// Thrown out of a run of the model when a stop is requested.
struct RunStopped {};

/// Small operands of integers that steps of plans have read in a run. They may be indices, or say how much
/// there is to do.
using IntegersRead = std::map<std::pair<const Plan*, ir::ValueId>, ir::Tensor>;

/// Times of the steps of one run of a plan and of all that it runs inside. Throws RunStopped out of the run.
/// own_time: the run's thread does all of its work; of long steps its own time counts, whoever else has the
/// processors.
class TreeTimes final : public StepObserver {
 public:
  /// Adds what is read to `integers` where it has none yet; null: does not look.
  explicit TreeTimes(const StopSignal& stop, IntegersRead* integers = nullptr, bool own_time = false)
      : stop_(stop), integers_(integers), own_time_(own_time) {}
  void step_reads(const Plan& plan, const Step& step, const std::vector<const void*>& inputs) override;
  void step_done(const Plan& plan, size_t index, double start_us, double elapsed_us) override;

  struct Times {
    std::shared_ptr<const Plan> plan;
    /// Per step, of all its runs together, without what is nested in it.
    std::vector<double> microseconds;
  };
  /// In the order in which a step of each was done first.
  const std::vector<Times>& plans() const { return plans_; }
  /// Of the plan's own steps, without those of nested plans; zeros where it was not run.
  std::vector<double> own_times(const Plan& plan) const;
  /// Of all plans; never 0.
  double total() const;
  /// Keeps the lesser times of this run and another one; plans of either.
  void keep_least(const TreeTimes& other);
  /// In place of what was measured: what the steps' work is expected to take, whatever kernels do it. A
  /// coarse guess that is the same in every process.
  void set_expected();

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<double>& times_of(const Plan& plan);

  const StopSignal& stop_;
  IntegersRead* integers_;
  bool own_time_;
  double own_start_ = 0;  ///< of the step at hand, seconds of the thread
  std::vector<Times> plans_;
  std::map<const Plan*, size_t> index_;
  /// Steps done that no other one is known to enclose: when each began, and what it took.
  std::vector<std::pair<Clock::time_point, double>> done_;
};

/// The plans that hang at one place each, the one used last of those that hang at the same.
std::vector<NestedPlan> latest_nested(const Plan& plan);

bool is_generated(const Step& step);
/// What its kernel was bound from; null where that was not generated.
const jit::KernelCode* code_of(const Step& step);

/// Steps of a plan with a kernel, and those of them that run generated ones; of nested plans of one place the
/// one used last counts.
struct StepCount {
  int kernels = 0;
  int generated = 0;
};
StepCount count_steps(const Plan& plan);
int generated_steps(const Plan& plan);
int kernel_steps(const Plan& plan);

/// Whether two plans of one graph for the same shapes have the same generated kernels at the same steps, as
/// far as both have the same nested plans.
bool same_kernels(const Plan& a, const Plan& b);

/// Calls with every step of `now` that runs a generated kernel where `before` does not, or another one, and
/// its plan.
/// `before` may be null.
void for_new_kernels(const Plan& now, const Plan* before,
                     const std::function<void(const Plan& plan, const Step& step)>& call);

/// Frames that measuring added hold an arena each: gives them back when it ends.
class FramesKept {
 public:
  FramesKept(const Plan& plan, Background& background);
  ~FramesKept();
  FramesKept(const FramesKept&) = delete;
  FramesKept& operator=(const FramesKept&) = delete;

 private:
  void keep(const Plan& plan);

  Background& background_;
  std::vector<std::pair<std::shared_ptr<const Plan>, size_t>> counts_;
};

}  // namespace axrun::runtime
