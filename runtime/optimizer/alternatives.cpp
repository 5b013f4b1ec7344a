// Other schedules of kernels that are in force, or were slower than the fallback: the part of PlanImprover
// that goes on when every step has its default kernel and the borders between kernels are settled.
//
// What a rank is worth falls with it, so a light step's first alternative may come before a heavy step's
// third. One that is faster by itself is taken over in the library and comes into force with the next plan,
// under the comparison of whole plans; what it has taken the place of is kept until real runs have confirmed
// it.

#include <algorithm>
#include <cstring>

#include "ir/error.h"
#include "runtime/optimizer/comparison.h"
#include "runtime/optimizer/freed_memory.h"
#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/warm/experience.h"

namespace axrun::runtime {
namespace {

/// What of the model's time steps must take for another schedule to be looked into: a fifth of it is more
/// than is mostly gained.
constexpr double least_share_of_kernel = 0.002;
/// Jobs whose inputs are held meanwhile.
constexpr size_t most_later = 4;

bool same_bytes(const GeneratedCode& a, const std::shared_ptr<const Kernel>& kernel) {
  const auto* jit = dynamic_cast<const JitKernel*>(kernel.get());
  if (jit == nullptr) return false;
  const jit::KernelCode& b = *jit->parts().code;
  return a.code->code_bytes() == b.code_bytes() && std::memcmp(a.code->code(), b.code(), b.code_bytes()) == 0;
}

}  // namespace

void PlanImprover::remember_alternatives(const OptimizerJob& job, bool layouts) {
  const bool alternatives = settings_.schedules && !settings_.always && library_->has_alternatives();
  if (!alternatives && !layouts) return;
  std::erase_if(later_, [&](const Later& one) { return one.job.shapes == job.shapes; });
  if (later_.size() == most_later) later_.pop_front();
  later_.push_back({job, layouts});
}

std::vector<PlanImprover::Task> PlanImprover::find_alternatives(const Plan& plan, const OptimizerJob& job) {
  std::vector<Task> tasks = find_tasks(plan, job);
  double total = 0;
  for (const Task& task : tasks) total += task.microseconds;
  for (Task& task : tasks) task.entry = library_->serving_entry(task.entry, task.sizes);
  std::erase_if(tasks, [&](const Task& task) {
    return task.microseconds < least_share_of_kernel * total || library_->next_alternative(*task.entry) == 0;
  });
  for (Task& task : tasks)
    task.worth =
        task.microseconds * expected_gain_of_alternatives(experience().of(library_->key(*task.entry)));
  return tasks;
}

const PlanImprover::Task* PlanImprover::next_alternative(const std::vector<Task>& tasks,
                                                         const KernelLibrary::Entry* tried) const {
  if (tried == nullptr && begun_) {
    const auto at_work = std::find_if(tasks.begin(), tasks.end(),
                                      [&](const Task& task) { return task.entry == begun_->entry; });
    if (at_work != tasks.end()) return &*at_work;
  }
  const Task* best = nullptr;
  double most = 0;
  for (const Task& task : tasks) {
    const size_t ahead = task.entry.get() == tried ? 1 : 0;
    if (library_->alternatives_left(*task.entry) <= ahead) continue;
    const auto rank = static_cast<double>(library_->next_alternative(*task.entry) + ahead);
    if (best != nullptr && task.worth / rank <= most) continue;
    best = &task;
    most = task.worth / rank;
  }
  return best;
}

void PlanImprover::count_alternatives(const std::vector<Task>& tasks) {
  int64_t left = 0;
  for (const Task& task : tasks) left += static_cast<int64_t>(library_->alternatives_left(*task.entry));
  board_.update([&](OptimizerStatus& status) { status.left = left; });
}

Ratio PlanImprover::compare_alternative(const Task& task, const GeneratedCode& code, TriedKernel::End& end) {
  auto piece = std::make_unique<const Background::Piece>(place_.background);
  const Plan& plan = *task.plan;
  const Step& step = plan.steps()[task.step];
  const auto kernel = [&](const GeneratedCode* instead) {
    return library_->kernel_for(*task.entry, task.sizes, plan, step, host_.threads, instead);
  };
  std::shared_ptr<const Kernel> present = step.kernel;
  if (library_->serves(*task.entry, task.sizes)) present = kernel(nullptr);
  const std::shared_ptr<const Kernel> candidate = kernel(&code);
  end = TriedKernel::End::different;
  if (!present || !candidate) return {};
  end = TriedKernel::End::same_code;
  if (same_bytes(code, present)) return {};
  KernelComparison comparison(plan, {{&step, present}}, {&step, candidate}, integers_, place_.pool);
  end = TriedKernel::End::different;
  if (!comparison.difference().empty()) return {};
  end = TriedKernel::End::not_bit_equal;
  if (settings_.deterministic && !comparison.bit_difference().empty()) return {};
  end = TriedKernel::End::slower;
  piece.reset();
  return comparison.times(place_.background, place_.stop, threads_that_spare());
}

bool PlanImprover::try_alternative(const Task& task, const std::function<void()>& meanwhile) {
  const size_t rank = library_->next_alternative(*task.entry);
  if (begun_ && (begun_->entry != task.entry || begun_->rank != rank)) settle();
  if (place_.stop.requested()) return false;
  if (!begun_) begin(task, rank);
  CandidateOutcome outcome = outcome_of_begun();
  const OptimizedKernel evidence = begun_->candidate->record();
  TriedKernel trial = begun_->candidate->trial(outcome);
  begun_.reset();
  if (place_.stop.requested()) return false;
  meanwhile();
  Ratio ratio;
  if (outcome.end == CandidateOutcome::End::verified) {
    try {
      ratio = compare_alternative(task, outcome.code, trial.end);
    } catch (const Error& error) {  // the kernel in force stays
      ratio = {};
      trial.reason = error.what();
    }
  }
  if (place_.stop.requested()) return false;
  const Background::Piece piece(place_.background);
  board_.update([](OptimizerStatus& status) { ++status.tried; });
  library_->alternative_tried(*task.entry, ratio.median);
  library_->note_trial(*task.entry, std::move(trial));
  library_->note_times(*task.entry, rank, ratio);
  const bool faster = ratio.second_is_faster(share);
  if (faster)
    library_->take_over(*task.entry, std::move(outcome.code), evidence, {task.sizes, true, ratio.median});
  return faster;
}

void PlanImprover::try_alternatives(const std::function<bool()>& wanted) try {
  if (place_.background.is_assured()) become_idle();
  const OptimizerJob job = later_.front().job;
  const PlanTable::Hold hold(*host_.plans, job.shapes);
  bring_back(job);
  const auto interrupted = [&] { return place_.stop.requested() || board_.frozen() || wanted(); };
  const auto forget = [&] {
    const Background::Piece piece(place_.background);
    clear_job();
    memory_was_freed();
  };
  bool done = !settings_.schedules || settings_.always;
  while (!done && !interrupted()) {
    const std::shared_ptr<const Plan> plan = host_.plans->current(job.shapes);
    if (!plan) break;
    forget();
    const std::vector<Task> tasks = find_alternatives(*plan, job);
    Clock::time_point next_swap = Clock::now() + between_swaps;
    bool taken = false;
    while (!interrupted() && !(taken && Clock::now() > next_swap)) {
      count_alternatives(tasks);
      rest_when_throttled();
      const Task* task = has_room_for_code() ? next_alternative(tasks) : nullptr;
      done = task == nullptr;
      if (done) break;
      taken |= try_alternative(*task, [&] {
        const Task* next = next_alternative(tasks, task->entry.get());
        if (next == nullptr || interrupted() || !has_room_for_code()) return;
        begin(*next, library_->next_alternative(*next->entry) + (next->entry == task->entry ? 1 : 0));
      });
      watch();
    }
    if (taken) swap(job);
    done = done && !taken;  // the plan may have been refused: then an earlier kernel is in force
  }
  if (begun_ && !place_.stop.requested()) settle();
  forget();
  if (interrupted()) return;
  board_.update([](OptimizerStatus& status) { status.left = 0; });
  const bool layouts = later_.front().layouts;
  later_.pop_front();
  if (!layouts) return;
  if (choose_layouts(job)) {
    grow(job);
    remember_alternatives(job);
  }
  forget();
} catch (const RunStopped&) {
}

}  // namespace axrun::runtime
