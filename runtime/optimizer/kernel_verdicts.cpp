// What is known of kernels, and what has come of them: the part of the library that says it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/log.h"
#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_library.h"
#include "runtime/optimizer/kernel_sizes.h"

namespace axrun::runtime {
namespace {

/// Not under the library's lock: plans look kernels up there.
void tell_candidate(const OptimizedKernel& kernel) {
  LogRecord record{LogLevel::debug,
                   "candidate",
                   {{"ops", kernel.ops}, {"kind", kernel.kind}, {"state", name_of(kernel.state)}}};
  if (!kernel.reason.empty()) record.fields.emplace_back("reason", kernel.reason);
  if (kernel.speedup > 0) record.fields.emplace_back("speedup", fmt::format("{:.3f}", kernel.speedup));
  log(std::move(record));
}

/// What of the record is told, copied while the lock is held; empty where nobody listens.
std::optional<OptimizedKernel> told_of(const OptimizedKernel& record) {
  if (!logs(LogLevel::debug)) return std::nullopt;
  OptimizedKernel told;
  told.ops = record.ops;
  told.kind = record.kind;
  told.state = record.state;
  told.reason = record.reason;
  told.speedup = record.speedup;
  return told;
}

}  // namespace

const StepExpression& KernelLibrary::expression(const Entry& entry) const {
  const std::lock_guard lock(mutex_);
  if (!entry.shared_expression->is_whole()) {
    StepExpression whole = *entry.shared_expression;
    whole.program = whole.whole_program();
    entry.shared_expression = std::make_shared<const StepExpression>(std::move(whole));
  }
  return *entry.shared_expression;
}

void KernelLibrary::resumed() {
  Change change(*this);
  change.of_everything();
  resumes_ = false;
}

OptimizedKernel::State KernelLibrary::state(const Entry& entry) const {
  const std::lock_guard lock(mutex_);
  return entry.record.state;
}

std::string KernelLibrary::kind(const Entry& entry) const {
  const std::lock_guard lock(mutex_);
  return entry.record.kind;
}

const std::string& KernelLibrary::key(const Entry& entry) const { return entry.key; }

search::Sizes KernelLibrary::ranges(const Entry& entry) const { return entry.ranges; }

bool KernelLibrary::is_judged(const Entry& entry, const SizeValues& sizes) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(entry.verdicts.begin(), entry.verdicts.end(), [&](const KernelVerdict& verdict) {
    return options_.exact_sizes ? verdict.sizes == sizes : alike(sizes, verdict.sizes);
  });
}

void KernelLibrary::refuse(Entry& entry, const std::string& reason, std::optional<TriedKernel::End> end) {
  std::optional<OptimizedKernel> told;
  {
    Change change(*this);
    change.of(entry);
    if (TriedKernel* const trial = end ? trial_of(entry, 0) : nullptr) {
      trial->end = *end;
      trial->reason = reason;
    }
    entry.record.state = OptimizedKernel::State::refused;
    entry.record.reason = reason;
    told = told_of(entry.record);
  }
  if (told) tell_candidate(*told);
}

void KernelLibrary::accept(Entry& entry, GeneratedCode code) {
  Change change(*this);
  change.of(entry);
  entry.record.kind = code.kind;
  entry.record.code_bytes = static_cast<int64_t>(code.code->code_bytes());
  entry.generated = std::move(code);
  entry.record.state = OptimizedKernel::State::accepted;
}

void KernelLibrary::judge(Entry& entry, KernelVerdict verdict) {
  std::optional<OptimizedKernel> told;
  {
    Change change(*this);
    change.of(entry);
    std::erase_if(entry.verdicts, [&](const KernelVerdict& old) { return old.sizes == verdict.sizes; });
    entry.record.speedup = verdict.speedup;
    entry.verdicts.push_back(std::move(verdict));
    const bool used = options_.always || std::any_of(entry.verdicts.begin(), entry.verdicts.end(),
                                                     [](const KernelVerdict& one) { return one.use; });
    if (TriedKernel* const trial = trial_of(entry, entry.record.rank)) {
      const bool served = trial->end == TriedKernel::End::in_force;
      trial->end = used     ? TriedKernel::End::in_force
                   : served ? TriedKernel::End::undone
                            : TriedKernel::End::slower;
    }
    entry.record.state = used ? OptimizedKernel::State::accepted : OptimizedKernel::State::slower;
    // Its parts serve: what no plan can have asked for yet is not kept. There are many more pairs than steps.
    if (entry.role == Role::joint && !used && entry.verdicts.size() == 1) entry.generated.reset();
    told = told_of(entry.record);
  }
  if (told) tell_candidate(*told);
}

void KernelLibrary::blame(Entry& entry, const SizeValues& sizes, const jit::KernelCode* code) {
  std::shared_ptr<Entry> special;
  {
    const std::lock_guard lock(mutex_);
    if (!choose(entry, sizes).use) special = specialised_at(entry.specialised, sizes);
  }
  Entry& blamed = special ? *special : entry;
  if (give_back_earlier(blamed, code)) return;
  judge(blamed, {sizes, false, 0});
}

std::vector<std::vector<int>> KernelLibrary::joined_groups(const ir::Graph& graph) {
  const std::lock_guard lock(mutex_);
  const auto found = joined_.find(&graph);
  return found == joined_.end() ? std::vector<std::vector<int>>() : found->second;
}

std::shared_ptr<KernelLibrary::Entry> KernelLibrary::serving(const std::shared_ptr<Entry>& entry,
                                                             const SizeValues& sizes) const {
  if (choose(*entry, sizes).use) return entry;
  const std::shared_ptr<Entry> special = specialised_at(entry->specialised, sizes);
  return special && choose(*special, sizes).use ? special : entry;
}

bool KernelLibrary::serves(const Entry& entry, const SizeValues& sizes) const {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Entry> special = specialised_at(entry.specialised, sizes);
  return choose(entry, sizes).use || (special && choose(*special, sizes).use);
}

double KernelLibrary::speedup_at(const Entry& entry, const SizeValues& sizes) const {
  const std::lock_guard lock(mutex_);
  if (choose(entry, sizes).use) return entry.record.speedup;
  const std::shared_ptr<Entry> special = specialised_at(entry.specialised, sizes);
  return special && choose(*special, sizes).use ? special->record.speedup : 0;
}

void KernelLibrary::note(Entry& entry, const std::function<void(OptimizedKernel&)>& change) {
  const std::lock_guard lock(mutex_);
  change(entry.record);
}

int64_t KernelLibrary::code_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = 0;
  for (const auto& entry : order_) {
    bytes += entry->generated ? entry->record.code_bytes : 0;
    for (const Entry::Earlier& earlier : entry->earlier) bytes += earlier.record.code_bytes;
  }
  return bytes;
}

int64_t KernelLibrary::prepared_bytes() const { return static_cast<int64_t>(prepared_.bytes()); }

}  // namespace axrun::runtime
