// Kernels at sizes beyond those at which they were tested: the part of PlanImprover that has them tested
// there, in the helper and while the fallback serves, and takes out of all plans what turns out wrong.
#include <algorithm>

#include "runtime/optimizer/plan_improver.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {
namespace {

bool runs(const Plan& plan, const jit::KernelCode* code) {
  bool found = false;
  for_new_kernels(plan, nullptr,
                  [&](const Plan&, const Step& step) { found = found || code_of(step) == code; });
  return found;
}

}  // namespace

bool PlanImprover::test_beyond(const Task& task) {
  const std::optional<GeneratedCode> known = library_->code_to_test(*task.entry, task.sizes);
  if (!known) return false;
  if (begun_) settle();
  if (place_.stop.requested()) return false;
  begun_ = {task.entry, task.sizes, known->rank, known,
            candidate_for(*task.entry, task.sizes, known->rank, known)};
  begun_->candidate->begin();
  const CandidateOutcome outcome = outcome_of_begun();
  const std::unique_ptr<Candidate> candidate = std::move(begun_->candidate);
  begun_.reset();
  if (place_.stop.requested()) return false;
  const Background::Piece piece(place_.background);
  board_.update([](OptimizerStatus& status) { ++status.tried; });
  if (outcome.end == CandidateOutcome::End::verified) {
    library_->extend(*task.entry, outcome.code, candidate->record().gate);
  } else if (candidate->is_wrong()) {
    withdraw(*task.entry, outcome.reason);
  } else {
    library_->stays_within(*task.entry, outcome.reason);
  }
  return outcome.end == CandidateOutcome::End::verified;
}

void PlanImprover::withdraw(KernelLibrary::Entry& entry, const std::string& reason) {
  const std::shared_ptr<const jit::KernelCode> code = library_->withdraw(entry, reason);
  if (warm_) warm_->forget_kernel(library_->key(entry));
  for (const std::vector<ir::Shape>& shapes : host_.plans->shapes()) {
    const std::shared_ptr<const Plan> now = host_.plans->current(shapes);
    if (!now || !runs(*now, code.get())) continue;
    const std::shared_ptr<const Plan> without = rebuilt(*now, library_);
    without->prepare_nested(*now);
    const bool swapped =
        board_.swap_unless_frozen([&] { return host_.plans->replace(shapes, now.get(), without); });
    if (!swapped) continue;
    PlanSwap swap;
    swap.what = "undo: a kernel was wrong at other sizes";
    swap.generated = generated_steps(*without);
    board_.add_swap(std::move(swap));
    account(*without, shapes);
  }
  // Nor does it come back with a plan that was better otherwise.
  std::erase_if(trials_, [&](const Trial& trial) { return runs(*trial.before, code.get()); });
}

}  // namespace axrun::runtime
