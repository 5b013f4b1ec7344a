// Plans with new kernels: compared, put in force, watched, undone: the part of PlanImprover that decides
// which plan the session runs.
#include <algorithm>

#include "runtime/optimizer/freed_memory.h"
#include "runtime/optimizer/plan_comparison.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {
namespace {

/// Real runs that are so much slower are looked into.
constexpr double suspicious = 1.1;
constexpr auto trial_time = std::chrono::seconds(20);

std::string text_of(const std::vector<ir::Shape>& shapes) {
  std::string text;
  for (const ir::Shape& shape : shapes) text += (text.empty() ? "" : " ") + ir::to_string(shape);
  return text;
}

}  // namespace

Ratio PlanImprover::compare_plans(const Plan& before, const Plan& after, const OptimizerJob& job,
                                  Asked asked) {
  const PhaseClock::In phase(clock_, "compare plans");
  return runtime::compare_plans(before, after, job.inputs, threads_that_spare(), share, place_, asked);
}

void PlanImprover::for_entries(
    const Plan& plan, const Plan* without,
    const std::function<void(KernelLibrary::Entry&, const SizeValues&, const jit::KernelCode* code)>& call) {
  std::set<std::pair<KernelLibrary::Entry*, SizeValues>> called;  // steps share entries
  for_new_kernels(plan, without, [&](const Plan& own, const Step& step) {
    const KernelLibrary::Place place =
        library_->place_for(symbolic_->inference(own.graph()), facts_of(own), own, step);
    if (place.entry && called.insert({place.entry.get(), place.sizes}).second)
      call(*place.entry, place.sizes, code_of(step));
  });
}

void PlanImprover::blame(const Plan& plan, const Plan* innocent) {
  // Of other layouts: the choice as a whole was wrong, and is not made again.
  if (innocent != nullptr && &innocent->graph() != &plan.graph()) return;
  for_entries(plan, innocent, [&](auto& entry, const SizeValues& sizes, const jit::KernelCode* code) {
    library_->blame(entry, sizes, code);
  });
}

void PlanImprover::confirm(const Plan& plan, const Plan* before) {
  for_entries(plan, before, [&](auto& entry, const SizeValues& sizes, const jit::KernelCode* code) {
    library_->confirm(entry, sizes, code);
  });
}

void PlanImprover::swap(const OptimizerJob& job) {
  const std::shared_ptr<const Plan> now = host_.plans->current(job.shapes);
  if (!now || place_.stop.requested()) return;
  std::shared_ptr<const Plan> better;
  bool equal = false;
  {
    const PhaseClock::In phase(clock_, "build plans");
    const Background::Piece piece(place_.background);
    // Layouts that were chosen stay.
    better = &now->graph() == host_.graph.get() ? host_.build(job.inputs, library_) : rebuilt(*now, library_);
    better->prepare_nested(*now);
    equal = same_kernels(*now, *better);
    // The same kernels: a new plan is of use only where it knows of more that is settled, which spares
    // offers.
    if (equal && better->open_steps() >= now->open_steps()) return;
  }
  const auto compared = [&] {
    return equal || settings_.always ? Ratio() : compare_plans(*now, *better, job);
  };
  Ratio ratio = compared();
  if (ratio.second_is_slower(share)) ratio = compared();  // few rounds, and blame lasts: asked again
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
  if (!equal) {
    put_in_force(job, now, better, ratio, "swap");
    return;
  }
  const bool swapped =
      board_.swap_unless_frozen([&] { return host_.plans->replace(job.shapes, now.get(), better); });
  const auto trial = std::find_if(trials_.begin(), trials_.end(),
                                  [&](const Trial& one) { return one.job.shapes == job.shapes; });
  if (swapped && trial != trials_.end() && trial->now == now) trial->now = better;
}

bool PlanImprover::put_in_force(const OptimizerJob& job, const std::shared_ptr<const Plan>& now,
                                const std::shared_ptr<const Plan>& better, const Ratio& ratio,
                                const char* what) {
  const bool swapped =
      board_.swap_unless_frozen([&] { return host_.plans->replace(job.shapes, now.get(), better); });
  if (!swapped) return false;
  const auto trial = std::find_if(trials_.begin(), trials_.end(),
                                  [&](const Trial& one) { return one.job.shapes == job.shapes; });
  PlanSwap swap;
  swap.shapes = text_of(job.shapes);
  swap.speedup = ratio.median;
  swap.what = what;
  swap.generated = generated_steps(*better);
  board_.add_swap(std::move(swap));
  account(*better, job.shapes);
  board_.update([&](OptimizerStatus& status) {
    if (ratio.second_is_faster(0)) status.speedup = (status.speedup > 0 ? status.speedup : 1) * ratio.median;
  });
  if (!settings_.always) {
    std::optional<double> median = now->times().median();
    if (trial != trials_.end()) {
      if (!median) median = trial->median_before;  // the plan in between was not there for long
      confirm(*trial->now, trial->before.get());
      trials_.erase(trial);
    }
    trials_.push_back({job, now, better, median, Clock::now() + trial_time});
  }
  return true;
}

void PlanImprover::watch() {
  bool confirmed = false;
  for (size_t k = 0; k < trials_.size();) {
    Trial& trial = trials_[k];
    const bool in_force = host_.plans->current(trial.job.shapes) == trial.now;
    if (in_force) {
      // Nothing runs on it but what was under way, and that leaves its arena behind.
      const Background::Piece piece(place_.background);
      trial.before->keep_frames(0);
    }
    const auto median = trial.now->times().median();
    if (in_force && !median && Clock::now() < trial.until) {
      ++k;
      continue;
    }
    const bool slow =
        in_force && median && trial.median_before && *median > suspicious * *trial.median_before;
    // Something else may use the machine by now: asked again, side by side.
    bool undone = false;
    if (slow && compare_plans(*trial.before, *trial.now, trial.job).second_is_slower(share)) {
      const Background::Piece piece(place_.background);
      undone = board_.swap_unless_frozen(
          [&] { return host_.plans->replace(trial.job.shapes, trial.now.get(), trial.before); });
      if (undone) {
        blame(*trial.now, trial.before.get());
        if (&trial.now->graph() != &trial.before->graph()) {
          const auto choice = layouts_.choice_for(trial.job.shapes);
          const bool were_layouts = choice && !choice->algebra && !choice->is_bilinear;
          layouts_.drop(trial.job.shapes);
          if (choice && choice->base) layouts_.choose(*choice->base);
          if (warm_ && were_layouts) warm_->note_layouts(Experience::Layouts::plain);
        }
        PlanSwap swap;
        swap.what = "undo: real runs became slower";
        swap.shapes = text_of(trial.job.shapes);
        swap.generated = generated_steps(*trial.before);
        board_.add_swap(std::move(swap));
        account(*trial.before, trial.job.shapes);
      }
    }
    const Background::Piece piece(place_.background);
    if (!undone) confirm(*trial.now, trial.before.get());
    confirmed = confirmed || !undone;
    trials_.erase(trials_.begin() + static_cast<std::ptrdiff_t>(k));
    memory_was_freed();
  }
  if (confirmed && when_confirmed_) when_confirmed_();
}

}  // namespace axrun::runtime
