#include "runtime/optimizer/kernel_lookup.h"

#include <algorithm>
#include <utility>

#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/kernel_entry.h"
#include "runtime/plan/kernel_block.h"

namespace axrun::runtime {

KernelLibrary::StepQuestion::StepQuestion(KernelLibrary& library, const ir::Graph& graph,
                                          const std::vector<int>& nodes, const StepContext& context)
    : library_(library), key_(&graph, nodes), node_(context.node), threads_(context.threads) {
  const auto constant = [&](ir::ValueId id) -> const ir::Tensor* {
    const auto at = std::find(context.input_ids.begin(), context.input_ids.end(), id);
    if (at == context.input_ids.end()) return nullptr;
    return context.inputs[static_cast<size_t>(at - context.input_ids.begin())].constant;
  };
  for (const StepPort& port : context.inputs)
    constants_.push_back(port.constant != nullptr ? port.constant->data() : nullptr);
  for (size_t k = 0; k < context.outputs.size(); ++k) {
    if (context.outputs[k].present) outputs_.push_back(static_cast<int>(k));
  }
  const std::lock_guard lock(library.mutex_);
  version_ = *library.version();
  forms_ = library.forms_of(key_, context.assumptions, constant);
  has_room_ = library.has_fixed_room(key_) || library.has_open_room(key_, context.assumptions);
}

bool KernelLibrary::StepQuestion::holds() const {
  const uint64_t known = version_;
  if (library_.version() == known) return true;
  const std::lock_guard lock(library_.mutex_);
  const auto group = library_.groups_.find(key_);
  const bool same_group = group == library_.groups_.end() ? forms_.empty() : group->second.changed <= known;
  const bool same = same_group && library_.all_changed_ <= known &&
                    std::all_of(forms_.begin(), forms_.end(), [&](const auto& form) {
                      return !form->entry || form->entry->changed <= known;
                    });
  if (same) version_ = *library_.version();
  return same;
}

KernelLibrary::StepQuestion::Known* KernelLibrary::StepQuestion::known(const Entry& entry,
                                                                       const ServingCode& code) const {
  const auto found = std::find_if(known_.begin(), known_.end(),
                                  [&](const auto& one) { return one->parts->code == code.code; });
  if (found != known_.end()) return found->get();
  auto made = std::make_unique<Known>();
  std::vector<bool> flags;
  for (const int input : code.inputs) {
    const auto at = static_cast<size_t>(input);
    const bool constant = entry.shared_expression->constant[at];
    if (constant && constants_[at] == nullptr) return nullptr;
    made->constants.push_back(constant ? constants_[at] : nullptr);
    flags.push_back(constant);
  }
  made->parts = parts_of(entry, code, flags, outputs_, node_, threads_);
  return known_.emplace_back(std::move(made)).get();
}

KernelSource::Found KernelLibrary::StepQuestion::at(const PortSizes& ports) const {
  if (forms_.empty()) return {nullptr, has_room_};
  // What the library says of other sizes may be the same in other numbers.
  const OpenAnswer* const answer = answer_.load(std::memory_order_acquire);
  if (answer != nullptr && library_.version() == version_) {
    Found found;
    const OpenAnswer::Says says = answer->at(ports, found);
    if (says == OpenAnswer::Says::found) return found;
    if (says == OpenAnswer::Says::not_for_it && forms_.size() == 1) return {nullptr, has_room_};
  }
  return look_up(ports);
}

KernelSource::Found KernelLibrary::StepQuestion::look_up(const PortSizes& ports) const {
  Found found;
  SizeValues sizes;
  ServingCode code;
  Known* known = nullptr;
  std::shared_ptr<const StepExpression> expression;
  std::shared_ptr<Entry> serving;
  bool is_for_range = false;
  {
    const std::lock_guard lock(library_.mutex_);
    size_t form = forms_.size();
    if (last_ < forms_.size() && is_for(*forms_[last_], ports, outputs_, sizes)) form = last_;
    for (size_t k = 0; form == forms_.size() && k < forms_.size(); ++k) {
      if (k != last_ && is_for(*forms_[k], ports, outputs_, sizes)) form = k;
    }
    if (form == forms_.size()) {
      if (forms_.size() == 1 && forms_[0]->entry && answers_.empty())
        keep(*forms_[0]->entry, nullptr, nullptr);
      found.open = has_room_;
      return found;
    }
    last_ = form;
    std::shared_ptr<Entry> entry = forms_[form]->entry;
    if (!entry) return found;
    Choice choice = library_.choose(*entry, sizes);
    found.open = choice.open || library_.resumes_;
    found.beyond = choice.beyond;
    if (!choice.use) {
      if (answers_.empty() && entry->specialised.empty() && !choice.beyond) keep(*entry, nullptr, nullptr);
      std::shared_ptr<Entry> special = specialised_at(entry->specialised, sizes);
      if (!special) return found;
      choice = library_.choose(*special, sizes);
      found.open = found.open || choice.open;
      if (!choice.use) return found;
      special->used = ++library_.uses_;
      entry = std::move(special);
    }
    known = this->known(*entry, *entry->generated);
    if (known == nullptr) return found;
    is_for_range = entry == forms_[form]->entry;
    code = *entry->generated;  // an alternative may take its place
    expression = entry->shared_expression;
    serving = std::move(entry);
  }
  std::shared_ptr<const jit::BoundKernel> bound = library_.bind(code, sizes, known->constants);
  found.kernel = make_in_block<JitKernel>(known->parts, bound, in_order(*expression, sizes));
  const std::lock_guard lock(library_.mutex_);
  const OpenAnswer* const answer = answer_.load(std::memory_order_relaxed);
  if (is_for_range && (answer == nullptr || !answer->has_kernel()))
    keep(*serving, known->parts, std::move(bound));
  return found;
}

void KernelLibrary::StepQuestion::keep(const Entry& entry, std::shared_ptr<const JitKernelParts> parts,
                                       std::shared_ptr<const jit::BoundKernel> kernel) const {
  // Where every kernel serves, or verdicts are for their very sizes, other rules hold.
  const bool plain = !library_.options_.always && !library_.options_.exact_sizes;
  if (!plain || library_.version() != version_ || entry.ranges.empty()) return;
  OpenAnswer::Known known{entry.shared_expression, outputs_, entry.ranges, std::move(parts),
                          std::move(kernel)};
  known.open_anyway = library_.resumes_;
  if (entry.record.state != OptimizedKernel::State::refused && entry.generated) {
    known.tested = entry.generated->tested;
    for (const KernelVerdict& verdict : entry.verdicts)
      known.verdicts.push_back({verdict.sizes, verdict.use});
  } else if (entry.record.state == OptimizedKernel::State::waiting) {
    known.open_anyway = true;
  }
  std::unique_ptr<const OpenAnswer> made = OpenAnswer::of(std::move(known));
  if (made == nullptr) return;
  answers_.push_back(std::move(made));
  answer_.store(answers_.back().get(), std::memory_order_release);
}

}  // namespace axrun::runtime
