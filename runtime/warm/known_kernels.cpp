// Kernels that another session has verified: the part of PlanImprover that asks the cache before the worker.
// They are compared and measured here as any other.
#include "ir/error.h"
#include "runtime/optimizer/plan_improver.h"
#include "runtime/warm/warm_start.h"

namespace axrun::runtime {

bool PlanImprover::take_from_cache(KernelLibrary::Entry& entry) {
  if (!warm_ || library_->state(entry) != OptimizedKernel::State::waiting) return false;
  const Background::Piece piece(place_.background);
  std::optional<WarmStart::KnownKernel> known = warm_->kernel(library_->key(entry));
  if (!known) return false;
  const size_t operands = library_->expression(entry).program.operands.size();
  for (const int input : known->code.inputs) {
    if (input < 0 || static_cast<size_t>(input) >= operands) return false;
  }
  const OptimizedKernel& record = known->record;
  library_->note(entry, [&](OptimizedKernel& own) {
    own.kind = record.kind;
    own.proof = record.proof;
    own.gate = record.gate;
    own.alternatives = record.alternatives;
    own.from_cache = true;
  });
  library_->accept(entry, std::move(known->code));
  board_.update([](OptimizerStatus& status) { ++status.tried; });
  return true;
}

}  // namespace axrun::runtime
