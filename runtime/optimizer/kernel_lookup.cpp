#include "runtime/optimizer/kernel_lookup.h"

#include <algorithm>
#include <utility>

#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/kernel_entry.h"

namespace axrun::runtime {

KernelLibrary::StepQuestion::StepQuestion(KernelLibrary& library, const ir::Graph& graph,
                                          const std::vector<int>& nodes, const StepContext& context)
    : library_(library), node_(context.node), threads_(context.threads) {
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
  const GroupKey key(&graph, nodes);
  forms_ = library.forms_of(key, context.assumptions, constant);
  has_room_ = library.has_fixed_room(key) || library.has_open_room(key, context.assumptions);
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
  Found found;
  SizeValues sizes;
  ServingCode code;
  Known* known = nullptr;
  std::shared_ptr<const jit::BoundKernel> relative;
  {
    const std::lock_guard lock(library_.mutex_);
    size_t form = forms_.size();
    if (last_ < forms_.size() && is_for(*forms_[last_], ports, sizes)) form = last_;
    for (size_t k = 0; form == forms_.size() && k < forms_.size(); ++k) {
      if (k != last_ && is_for(*forms_[k], ports, sizes)) form = k;
    }
    if (form == forms_.size()) {
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
      std::shared_ptr<Entry> special = specialised_at(entry->specialised, sizes);
      if (!special) return found;
      choice = library_.choose(*special, sizes);
      found.open = found.open || choice.open;
      if (!choice.use) return found;
      special->used = ++library_.uses_;
      entry = std::move(special);
    }
    known = this->known(*entry, *entry->generated);
    if (known == nullptr || !gives(*entry->shared_expression, sizes, ports, outputs_)) return found;
    relative = known->bound;
    code = *entry->generated;  // an alternative may take its place
  }
  std::shared_ptr<const jit::BoundKernel> bound;
  if (relative) bound = relative->resized(sizes);
  if (bound == nullptr) {
    bound = library_.bind(code, sizes, known->constants);
    const std::lock_guard lock(library_.mutex_);
    known->bound = bound;
  }
  found.kernel = std::make_shared<JitKernel>(known->parts, std::move(bound), std::move(sizes));
  return found;
}

}  // namespace axrun::runtime
