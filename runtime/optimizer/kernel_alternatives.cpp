// Other schedules of what an entry computes: the part of the library that says which are to be tried, and
// puts them in the place of the kernel in force, and that back.
#include <algorithm>
#include <utility>

#include "ir/error.h"
#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_library.h"

namespace axrun::runtime {

std::shared_ptr<KernelLibrary::Entry> KernelLibrary::serving_entry(const std::shared_ptr<Entry>& entry,
                                                                   const SizeValues& sizes) const {
  const std::lock_guard lock(mutex_);
  if (choose(*entry, sizes).use) return entry;
  const std::shared_ptr<Entry> special = specialised_at(entry->specialised, sizes);
  return special ? special : entry;
}

bool KernelLibrary::has_alternatives() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(order_.begin(), order_.end(), [](const std::shared_ptr<Entry>& entry) {
    return entry->generated && entry->record.alternatives_tried < entry->record.alternatives;
  });
}

size_t KernelLibrary::next_alternative(const Entry& entry) const {
  const std::lock_guard lock(mutex_);
  const OptimizedKernel& record = entry.record;
  const bool judged =
      entry.generated && !entry.verdicts.empty() &&
      (record.state == OptimizedKernel::State::accepted || record.state == OptimizedKernel::State::slower);
  if (!judged || record.alternatives_tried >= record.alternatives) return 0;
  return static_cast<size_t>(record.alternatives_tried) + 1;
}

size_t KernelLibrary::alternatives_left(const Entry& entry) const {
  const size_t next = next_alternative(entry);
  if (next == 0) return 0;
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(entry.record.alternatives) + 1 - next;
}

void KernelLibrary::alternative_tried(Entry& entry, double speedup) {
  const std::lock_guard lock(mutex_);
  ++entry.record.alternatives_tried;
  entry.record.alternative_speedup = std::max(entry.record.alternative_speedup, speedup);
}

namespace {

/// What a record says of the kernel, not of the steps that it is for.
void take_evidence(OptimizedKernel& record, const OptimizedKernel& evidence) {
  record.kind = evidence.kind;
  record.proof = evidence.proof;
  record.gate = evidence.gate;
  record.proof_seconds = evidence.proof_seconds;
  record.gate_seconds = evidence.gate_seconds;
  record.compile_seconds = evidence.compile_seconds;
  record.rank = evidence.rank;
  record.from_cache = evidence.from_cache;
}

}  // namespace

void KernelLibrary::take_over(Entry& entry, GeneratedCode code, const OptimizedKernel& evidence,
                              KernelVerdict verdict) {
  Change change(*this);
  change.of(entry);
  AXRUN_ASSERT(entry.generated && verdict.use);
  if (choose(entry, verdict.sizes).use) verdict.speedup *= entry.record.speedup;
  entry.earlier.push_back({std::move(*entry.generated), std::exchange(entry.verdicts, {}), entry.record});
  end_trial(entry, entry.record.rank, TriedKernel::End::overtaken);
  take_evidence(entry.record, evidence);
  end_trial(entry, entry.record.rank, TriedKernel::End::in_force);
  entry.record.state = OptimizedKernel::State::accepted;
  entry.record.speedup = verdict.speedup;
  entry.record.code_bytes = static_cast<int64_t>(code.code->code_bytes());
  entry.generated = std::move(code);
  entry.stays_within.clear();
  entry.verdicts.push_back(std::move(verdict));
}

bool KernelLibrary::give_back_earlier(Entry& entry, const jit::KernelCode* code) {
  Change change(*this);
  change.of(entry);
  if (entry.earlier.empty()) return false;
  if (entry.generated->code.get() != code) {
    // Another one has taken its place since: that one is still to be seen in the model.
    const auto blamed = std::find_if(entry.earlier.begin() + 1, entry.earlier.end(),
                                     [&](const Entry::Earlier& one) { return one.code.code.get() == code; });
    if (blamed == entry.earlier.end()) return false;
    end_trial(entry, blamed->record.rank, TriedKernel::End::undone);
    entry.earlier.erase(blamed);
    return true;
  }
  Entry::Earlier earlier = std::move(entry.earlier.back());
  entry.earlier.pop_back();
  end_trial(entry, entry.record.rank, TriedKernel::End::undone);
  take_evidence(entry.record, earlier.record);
  if (earlier.record.state == OptimizedKernel::State::accepted)
    end_trial(entry, entry.record.rank, TriedKernel::End::in_force);
  entry.record.state = earlier.record.state;
  entry.record.speedup = earlier.record.speedup;
  entry.record.code_bytes = earlier.record.code_bytes;
  entry.generated = std::move(earlier.code);
  entry.stays_within.clear();
  entry.verdicts = std::move(earlier.verdicts);
  return true;
}

void KernelLibrary::confirm(Entry& entry, const SizeValues& sizes, const jit::KernelCode* code) {
  const std::lock_guard lock(mutex_);
  const auto confirm_one = [&](Entry& one) {
    if (!one.generated) return;
    const auto seen = one.generated->code.get() == code
                          ? one.earlier.end()
                          : std::find_if(one.earlier.begin(), one.earlier.end(), [&](const auto& earlier) {
                              return earlier.code.code.get() == code;
                            });
    if (seen == one.earlier.end() && one.generated->code.get() != code) return;
    one.earlier.erase(one.earlier.begin(), seen);
  };
  confirm_one(entry);
  if (const auto special = specialised_at(entry.specialised, sizes)) confirm_one(*special);
}

}  // namespace axrun::runtime
