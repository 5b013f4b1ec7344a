// What was tried for an expression, and what came of each: the part of the library that keeps the account.
#include <algorithm>

#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_library.h"

namespace axrun::runtime {
namespace {}  // namespace

const char* name_of(TriedKernel::End end) {
  switch (end) {
    case TriedKernel::End::in_force:
      return "in force";
    case TriedKernel::End::overtaken:
      return "overtaken";
    case TriedKernel::End::undone:
      return "undone";
    case TriedKernel::End::slower:
      return "not faster";
    case TriedKernel::End::same_code:
      return "same code";
    case TriedKernel::End::different:
      return "different results";
    case TriedKernel::End::not_bit_equal:
      return "not bit-equal";
    case TriedKernel::End::no_schedule:
      return "no schedule";
    case TriedKernel::End::not_proved:
      return "not proved";
    case TriedKernel::End::not_passed:
      return "failed its test";
    case TriedKernel::End::no_code:
      return "not compiled";
    case TriedKernel::End::worker_failed:
      return "helper process failed";
    case TriedKernel::End::not_tried:
      return "not tried";
  }
  return "unknown";
}

TriedKernel* KernelLibrary::trial_of(Entry& entry, int rank) {
  std::vector<TriedKernel>& trials = entry.record.trials;
  const auto found =
      std::find_if(trials.begin(), trials.end(), [&](const TriedKernel& one) { return one.rank == rank; });
  return found == trials.end() ? nullptr : &*found;
}

void KernelLibrary::end_trial(Entry& entry, int rank, TriedKernel::End end) {
  if (TriedKernel* const trial = trial_of(entry, rank)) trial->end = end;
}

void KernelLibrary::note_trial(Entry& entry, TriedKernel trial) {
  const std::lock_guard lock(mutex_);
  if (TriedKernel* const known = trial_of(entry, trial.rank)) {
    *known = std::move(trial);
  } else {
    entry.record.trials.push_back(std::move(trial));
  }
}

void KernelLibrary::note_times(Entry& entry, size_t rank, const Ratio& ratio) {
  const std::lock_guard lock(mutex_);
  TriedKernel* const trial = trial_of(entry, static_cast<int>(rank));
  if (trial == nullptr) return;
  trial->present_us = ratio.first_seconds * 1e6;
  trial->own_us = ratio.second_seconds * 1e6;
  trial->speedup = ratio.median;
  trial->rounds = ratio.rounds;
}

}  // namespace axrun::runtime
