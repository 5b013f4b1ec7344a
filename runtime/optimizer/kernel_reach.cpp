// How far kernels serve: the part of the library that keeps code to the sizes at which it was tested.
#include <algorithm>
#include <utility>

#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer/kernel_sizes.h"

namespace axrun::runtime {

std::optional<GeneratedCode> KernelLibrary::code_to_test(const Entry& entry, const SizeValues& sizes) const {
  const std::lock_guard lock(mutex_);
  const bool serves = entry.record.state == OptimizedKernel::State::accepted ||
                      entry.record.state == OptimizedKernel::State::slower;
  if (!serves || !entry.generated || !entry.stays_within.empty()) return std::nullopt;
  if (entry.generated->tested.cover(sizes)) return std::nullopt;
  return entry.generated;
}

bool KernelLibrary::reaches(const Entry& entry, const SizeValues& sizes) const {
  const std::lock_guard lock(mutex_);
  return entry.generated && entry.generated->tested.cover(sizes);
}

void KernelLibrary::extend(Entry& entry, const GeneratedCode& code, const std::string& gate) {
  Change change(*this);
  change.of(entry);
  if (!entry.generated || entry.generated->code != code.code) return;
  entry.generated->tested = code.tested;
  entry.record.gate += (entry.record.gate.empty() ? "" : "; then ") + gate;
  entry.record.from_cache = false;  // its evidence was, in part, made here
}

void KernelLibrary::stays_within(Entry& entry, const std::string& reason) {
  Change change(*this);
  change.of(entry);
  entry.stays_within = reason;
}

OptimizedKernel KernelLibrary::record_of(const Entry& entry) {
  OptimizedKernel record = entry.record;
  if (!entry.generated || entry.ranges.empty()) return record;
  const verify::TestedSizes& tested = entry.generated->tested;
  record.tested = text_of(tested);
  search::Sizes served = entry.ranges;
  for (ir::loop::Size& range : served)
    range.high = std::min(range.high, verify::served_up_to(tested.largest(range.name)));
  record.served = text_of(served);
  if (!entry.stays_within.empty()) record.served += " (not tested beyond: " + entry.stays_within + ")";
  return record;
}

std::shared_ptr<const jit::KernelCode> KernelLibrary::withdraw(Entry& entry, const std::string& reason) {
  std::shared_ptr<const jit::KernelCode> code;
  {
    Change change(*this);
    change.of(entry);
    if (entry.generated) code = entry.generated->code;
    if (TriedKernel* const trial = trial_of(entry, entry.record.rank)) {
      trial->end = TriedKernel::End::not_passed;
      trial->reason = reason;
    }
    entry.generated.reset();
    entry.earlier.clear();
    entry.verdicts.clear();
    entry.record.code_bytes = 0;
  }
  refuse(entry, reason);
  return code;
}

}  // namespace axrun::runtime
