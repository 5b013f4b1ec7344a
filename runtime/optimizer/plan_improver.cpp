#include "runtime/optimizer/plan_improver.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/error.h"
#include "runtime/host_target.h"
#include "runtime/optimizer/comparison.h"
#include "runtime/optimizer/jit_kernel.h"

namespace axrun::runtime {
namespace {

/// A kernel must be faster by this share to be swapped in, a model slower by it to be swapped back.
constexpr double share = 0.02;
/// Between two plans that are put in force while candidates are tried: at least, and as a multiple of the
/// time that the last one took to build and to compare.
constexpr auto between_swaps = std::chrono::milliseconds(250);
constexpr int swap_times = 2;
/// Real runs that are so much slower are looked into.
constexpr double suspicious = 1.1;
constexpr auto trial_time = std::chrono::seconds(20);
/// Runs that show where the time goes; one that takes longer is the only one.
constexpr auto looking_time = std::chrono::milliseconds(5);
constexpr int most_failed_starts = 3;
/// A plan that has run so often is taken for one whose shapes come again.
constexpr uint64_t runs_that_repeat = 8;
/// Of one session.
constexpr int64_t most_code_bytes = int64_t{16} << 20;

/// Thrown out of a run of the model when a stop is requested.
struct RunStopped {};

class Observer final : public StepObserver {
 public:
  Observer(const StopSignal& stop, const Plan& plan)
      : stop_(stop), plan_(plan), times_(plan.steps().size(), 0) {}
  void step_done(const Plan& plan, size_t index, double, double elapsed_us) override {
    if (stop_.requested()) throw RunStopped();
    if (&plan == &plan_) times_[index] = elapsed_us;
  }
  const std::vector<double>& times() const { return times_; }

 private:
  const StopSignal& stop_;
  const Plan& plan_;
  std::vector<double> times_;
};

bool is_generated(const Step& step) { return dynamic_cast<const JitKernel*>(step.kernel.get()) != nullptr; }

/// Frames that measuring added hold an arena each.
class FramesKept {
 public:
  FramesKept(const Plan& plan, Background& background)
      : plan_(plan), background_(background), count_(plan.frames()) {}
  ~FramesKept() {
    const Background::Piece piece(background_);
    plan_.keep_frames(count_);
  }
  FramesKept(const FramesKept&) = delete;
  FramesKept& operator=(const FramesKept&) = delete;

 private:
  const Plan& plan_;
  Background& background_;
  size_t count_;
};

std::string text_of(const std::vector<ir::Shape>& shapes) {
  std::string text;
  for (const ir::Shape& shape : shapes) text += (text.empty() ? "" : " ") + ir::to_string(shape);
  return text;
}

/// Making machine code and executing it is allowed, and this processor is one that it can be made for.
void require_machine_code(const jit::Target& target) {
  const ir::loop::LoopProgram probe =
      ir::loop::parse("loops probe() {\n  output y: f32[1]\n  y[0] = 1:f32\n}\n");
  const jit::BoundKernel kernel(jit::KernelCode::compile(probe, target), {});
  AXRUN_ASSERT(kernel.scratch_bytes(1) == 0);
}

}  // namespace

int generated_steps(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps().begin(), plan.steps().end(), is_generated));
}

int kernel_steps(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps().begin(), plan.steps().end(),
                                        [](const Step& step) { return step.kernel != nullptr; }));
}

PlanImprover::PlanImprover(const OptimizerHost& host, const OptimizerSettings& settings,
                           std::shared_ptr<KernelLibrary> library, StatusBoard& board,
                           const Background::Place& place)
    : host_(host),
      settings_(settings),
      library_(std::move(library)),
      board_(board),
      place_(place),
      worker_(settings.worker) {
  const Background::Piece piece(place_.background);
  try {
    tools_.lower = settings.lower;
    tools_.target = host_target();
    require_machine_code(tools_.target);
  } catch (const Error& error) {
    throw CannotGoOn{fmt::format("no machine code can be generated here: {}", error.what())};
  }
}

void PlanImprover::run(const Plan& plan, const OptimizerJob& job, StepObserver& observer) {
  const Background::Piece piece(place_.background);
  std::vector<RuntimeValue> outputs(plan.graph().outputs.size());
  plan.run(job.inputs, outputs, {place_.pool, &observer});
}

std::vector<double> PlanImprover::step_times(const Plan& plan, const OptimizerJob& job) {
  const FramesKept frames(plan, place_.background);
  const Clock::time_point start = Clock::now();
  std::vector<double> least;
  do {
    Observer observer(place_.stop, plan);
    run(plan, job, observer);
    const std::vector<double>& times = observer.times();
    if (least.empty()) least = times;
    for (size_t s = 0; s < times.size(); ++s) least[s] = std::min(least[s], times[s]);
  } while (Clock::now() - start < looking_time);
  return least;
}

std::vector<PlanImprover::Task> PlanImprover::find_tasks(const Plan& plan, const OptimizerJob& job) {
  const std::vector<double> times = step_times(plan, job);
  const double total = std::accumulate(times.begin(), times.end(), 1e-9);
  const Background::Piece piece(place_.background);
  if (!symbolic_) symbolic_.emplace(host_.graph);
  const ir::Inference concrete = facts_of(plan);
  std::vector<Task> tasks;
  for (size_t s = 0; s < plan.steps().size() && !place_.stop.requested(); ++s) {
    const Step& step = plan.steps()[s];
    if (!step.kernel || step.nodes.empty()) continue;
    const KernelLibrary::Place found =
        library_->place_for(*symbolic_, concrete, plan, step, times[s] / total);
    if (!found.entry) continue;
    const auto known = std::find_if(tasks.begin(), tasks.end(), [&](const Task& task) {
      return task.entry == found.entry && task.sizes == found.sizes;
    });
    if (known == tasks.end()) {
      tasks.push_back({found.entry, found.sizes, s, times[s]});
      continue;
    }
    if (times[s] > times[known->step]) known->step = s;
    known->microseconds += times[s];
  }
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const Task& a, const Task& b) { return a.microseconds > b.microseconds; });
  return tasks;
}

void PlanImprover::count_left(const std::vector<Task>& tasks, size_t done) {
  int64_t left = 0;
  for (size_t k = done; k < tasks.size(); ++k) {
    left += library_->state(*tasks[k].entry) == OptimizedKernel::State::waiting ? 1 : 0;
  }
  board_.update([&](OptimizerStatus& status) { status.left = left; });
}

void PlanImprover::improve(const OptimizerJob& job) try {
  const std::shared_ptr<const Plan> plan = host_.plans->current(job.shapes);
  if (!plan) return;
  fallback_ = generated_steps(*plan) == 0 ? plan : nullptr;
  board_.update([&](OptimizerStatus& status) {
    status.steps = kernel_steps(*plan);
    status.swapped = generated_steps(*plan);
  });
  const std::vector<Task> tasks = find_tasks(*plan, job);
  Clock::time_point next_swap = Clock::now() + between_swaps;
  for (size_t k = 0; k < tasks.size(); ++k) {
    count_left(tasks, k);
    rest_when_throttled();
    if (place_.stop.requested() || board_.frozen()) return;
    try_task(tasks[k], *plan, job);
    watch();
    if (Clock::now() > next_swap) {
      const Clock::time_point start = Clock::now();
      swap(job);
      next_swap =
          Clock::now() + std::max<Clock::duration>(between_swaps, swap_times * (Clock::now() - start));
    }
  }
  count_left(tasks, tasks.size());
  swap(job);
  fallback_ = nullptr;
} catch (const RunStopped&) {
}

void PlanImprover::try_task(const Task& task, const Plan& plan, const OptimizerJob& job) {
  try {
    if (library_->state(*task.entry) == OptimizedKernel::State::waiting) attempt(task);
    const OptimizedKernel::State state = library_->state(*task.entry);
    const bool verified =
        state == OptimizedKernel::State::accepted || state == OptimizedKernel::State::slower;
    if (verified && !library_->is_judged(*task.entry, task.sizes)) compare(task, plan, job);
    if (place_.stop.requested() || plan.times().count() < runs_that_repeat) return;
    if (const auto special = library_->specialised(*task.entry, task.sizes))
      try_task({special, task.sizes, task.step, task.microseconds}, plan, job);
  } catch (const Error& error) {
    library_->refuse(*task.entry, error.what());
  }
}

void PlanImprover::attempt(const Task& task) {
  if (library_->code_bytes() > most_code_bytes) {
    library_->refuse(*task.entry, "the session's share of machine code is used up");
    return;
  }
  const StepExpression& expression = library_->expression(*task.entry);
  const search::Sizes ranges = library_->ranges(*task.entry);
  for (;;) {
    OptimizedKernel record;
    // No piece of its own: it waits for the worker, and takes no lock that others need.
    CandidateOutcome outcome =
        try_candidate(expression, task.sizes, ranges, tools_, worker_, place_.stop, record);
    board_.update([&](OptimizerStatus& status) { status.worker_starts = worker_.starts(); });
    if (place_.stop.requested()) return;
    const Background::Piece piece(place_.background);
    if (outcome.end == CandidateOutcome::End::worker_trouble) {
      if (worker_.failed_starts() < most_failed_starts) continue;
      throw CannotGoOn{outcome.reason};
    }
    library_->note(*task.entry, [&](OptimizedKernel& known) {
      known.kind = record.kind;
      known.proof = record.proof;
      known.gate = record.gate;
      known.proof_seconds = record.proof_seconds;
      known.gate_seconds = record.gate_seconds;
      known.compile_seconds = record.compile_seconds;
    });
    if (outcome.end == CandidateOutcome::End::verified) {
      library_->accept(*task.entry, std::move(outcome.code));
    } else {
      library_->refuse(*task.entry, outcome.reason);
    }
    board_.update([](OptimizerStatus& status) { ++status.tried; });
    return;
  }
}

void PlanImprover::compare(const Task& task, const Plan& plan, const OptimizerJob& job) {
  auto piece = std::make_unique<const Background::Piece>(place_.background);
  const Step* step = &plan.steps()[task.step];
  std::shared_ptr<const Kernel> present = step->kernel;
  if (is_generated(*step)) {
    if (!fallback_) fallback_ = host_.build(job.inputs, nullptr);
    const auto same = std::find_if(fallback_->steps().begin(), fallback_->steps().end(),
                                   [&](const Step& one) { return one.nodes == step->nodes; });
    if (same == fallback_->steps().end()) return;
    present = same->kernel;
  }
  const std::shared_ptr<const Kernel> candidate =
      library_->kernel_for(*task.entry, task.sizes, plan, *step, host_.threads);
  if (!candidate) {
    library_->refuse(*task.entry, "it does not fit the step");
    return;
  }
  KernelComparison comparison(plan, *step, *present, *candidate, place_.pool);
  std::string difference = comparison.difference();
  if (difference.empty() && settings_.deterministic) {
    difference = comparison.bit_difference();
    if (!difference.empty()) difference = "not bit-equal to the fallback: " + difference;
  }
  if (!difference.empty()) {
    library_->refuse(*task.entry, difference);
    return;
  }
  piece.reset();
  const Ratio ratio = comparison.times(place_.background, place_.stop);
  if (place_.stop.requested()) return;
  const Background::Piece last(place_.background);
  library_->judge(*task.entry, {task.sizes, settings_.always || ratio.second_is_faster(share), ratio.median});
}

Ratio PlanImprover::compare_plans(const Plan& before, const Plan& after, const OptimizerJob& job) {
  const FramesKept frames_before(before, place_.background), frames_after(after, place_.background);
  Observer observer_before(place_.stop, before), observer_after(place_.stop, after);
  RoundOptions options;
  options.fewest = 3;
  options.most = 14;
  options.share = share;
  options.most_seconds = 0.3;  // no more than the fewest where a run takes long
  return paired_rounds([&] { run(before, job, observer_before); }, [&] { run(after, job, observer_after); },
                       place_.stop, options);
}

void PlanImprover::blame(const Plan& plan, const Plan* innocent) {
  const ir::Inference concrete = facts_of(plan);
  for (const Step& step : plan.steps()) {
    if (!is_generated(step)) continue;
    const bool was_there =
        innocent != nullptr &&
        std::any_of(innocent->steps().begin(), innocent->steps().end(),
                    [&](const Step& one) { return one.nodes == step.nodes && is_generated(one); });
    if (was_there) continue;
    const KernelLibrary::Place place = library_->place_for(*symbolic_, concrete, plan, step, 0);
    if (place.entry) library_->blame(*place.entry, place.sizes);
  }
}

void PlanImprover::swap(const OptimizerJob& job) {
  const std::shared_ptr<const Plan> now = host_.plans->current(job.shapes);
  if (!now || place_.stop.requested()) return;
  std::shared_ptr<const Plan> better;
  {
    const Background::Piece piece(place_.background);
    better = host_.build(job.inputs, library_);
  }
  const auto differs = [](const Step& a, const Step& b) {
    return a.nodes != b.nodes || is_generated(a) != is_generated(b);
  };
  const bool equal = now->steps().size() == better->steps().size() &&
                     std::equal(now->steps().begin(), now->steps().end(), better->steps().begin(),
                                [&](const Step& a, const Step& b) { return !differs(a, b); });
  // The same kernels: a new plan is of use only where it knows of more that is settled, which spares offers.
  if (equal && better->open_steps() >= now->open_steps()) return;
  const Ratio ratio = equal || settings_.always ? Ratio() : compare_plans(*now, *better, job);
  if (place_.stop.requested()) return;
  const Background::Piece piece(place_.background);
  PlanSwap swap;
  swap.shapes = text_of(job.shapes);
  swap.speedup = ratio.median;
  if (ratio.second_is_slower(share)) {
    blame(*better, now.get());
    swap.what = "not swapped: slower in the model";
    swap.generated = generated_steps(*now);
    board_.add_swap(std::move(swap));
    return;
  }
  const bool swapped =
      board_.swap_unless_frozen([&] { return host_.plans->replace(job.shapes, now.get(), better); });
  if (!swapped) return;
  const auto trial = std::find_if(trials_.begin(), trials_.end(),
                                  [&](const Trial& one) { return one.job.shapes == job.shapes; });
  if (equal) {
    if (trial != trials_.end() && trial->now == now) trial->now = better;
    return;
  }
  swap.what = "swap";
  swap.generated = generated_steps(*better);
  board_.add_swap(std::move(swap));
  board_.update([&](OptimizerStatus& status) {
    status.swapped = generated_steps(*better);
    if (ratio.second_is_faster(0)) status.speedup = (status.speedup > 0 ? status.speedup : 1) * ratio.median;
  });
  if (!settings_.always) {
    std::optional<double> median = now->times().median();
    if (trial != trials_.end()) {
      if (!median) median = trial->median_before;  // the plan in between was not there for long
      trials_.erase(trial);
    }
    trials_.push_back({job, now, better, median, Clock::now() + trial_time});
  }
}

void PlanImprover::watch() {
  for (size_t k = 0; k < trials_.size();) {
    Trial& trial = trials_[k];
    const bool in_force = host_.plans->current(trial.job.shapes) == trial.now;
    const auto median = trial.now->times().median();
    if (in_force && !median && Clock::now() < trial.until) {
      ++k;
      continue;
    }
    const bool slow =
        in_force && median && trial.median_before && *median > suspicious * *trial.median_before;
    // Something else may use the machine by now: asked again, side by side.
    if (slow && compare_plans(*trial.before, *trial.now, trial.job).second_is_slower(share)) {
      const Background::Piece piece(place_.background);
      const bool undone = board_.swap_unless_frozen(
          [&] { return host_.plans->replace(trial.job.shapes, trial.now.get(), trial.before); });
      if (undone) {
        blame(*trial.now, trial.before.get());
        PlanSwap swap;
        swap.what = "undo: real runs became slower";
        swap.shapes = text_of(trial.job.shapes);
        swap.generated = generated_steps(*trial.before);
        board_.add_swap(std::move(swap));
        board_.update([&](OptimizerStatus& status) { status.swapped = generated_steps(*trial.before); });
      }
    }
    trials_.erase(trials_.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

void PlanImprover::rest_when_throttled() {
  constexpr std::chrono::seconds shortest{5}, longest{80};
  if (!throttling_.rose()) return;
  do {
    board_.set_state(StatusBoard::State::paused, "the control group's processor time was used up");
    if (place_.stop.wait_for(rest_)) return;
    rest_ = std::min(rest_ * 2, longest);
  } while (throttling_.rose());
  rest_ = std::max(rest_ / 2, shortest);
  board_.set_state(StatusBoard::State::working);
}

}  // namespace axrun::runtime
