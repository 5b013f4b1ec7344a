// Graphs that compute what others do: the part of the library that knows what is the same in both.
#include <algorithm>

#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_library.h"

namespace axrun::runtime {

void KernelLibrary::serve_as(const ir::Graph& graph, const std::vector<int>& nodes, const ir::Graph& other,
                             const std::vector<int>& twins) {
  const std::lock_guard lock(mutex_);
  const auto found = forms_.find({&graph, nodes});
  if (found != forms_.end()) forms_[{&other, twins}] = std::vector(found->second);
  const auto joined = joined_.find(&graph);
  const bool is_joint = joined != joined_.end() && std::find(joined->second.begin(), joined->second.end(),
                                                             nodes) != joined->second.end();
  if (is_joint) joined_[&other].push_back(twins);
}

void KernelLibrary::forget(const ir::Graph& graph) {
  const std::lock_guard lock(mutex_);
  std::erase_if(forms_, [&](const auto& form) { return form.first.first == &graph; });
  std::erase_if(without_kernel_, [&](const auto& one) { return one.first == &graph; });
  joined_.erase(&graph);
}

void KernelLibrary::know_joined(const ir::Graph& graph, const std::vector<int>& nodes) {
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<int>>& known = joined_[&graph];
  if (std::find(known.begin(), known.end(), nodes) == known.end()) known.push_back(nodes);
}

void KernelLibrary::move_steps_to(Entry& joint, const std::vector<Place>& parts) const {
  for (const Place& part : parts) {
    if (!part.entry) continue;
    const std::shared_ptr<Entry> from = serving(part.entry, part.sizes);
    if (from->record.steps == 0) continue;
    const double share = from->record.share / from->record.steps;
    --from->record.steps;
    from->record.share -= share;
    joint.record.share += share;
    joint.taken.push_back({from, share});
  }
}

void KernelLibrary::move_steps_back(Entry& joint) {
  for (const Entry::Taken& taken : joint.taken) {
    ++taken.from->record.steps;
    taken.from->record.share += taken.share;
    joint.record.share -= taken.share;
  }
  if (!joint.taken.empty()) joint.record.steps = 0;
  joint.taken.clear();
}

void KernelLibrary::take_steps(const std::shared_ptr<Entry>& entry, const SizeValues& sizes,
                               const ir::Node& node, const std::vector<Place>& parts) {
  const std::lock_guard lock(mutex_);
  Entry& joint = *serving(entry, sizes);
  ++joint.record.steps;
  note_node(joint.record, node);
  move_steps_to(joint, parts);
}

void KernelLibrary::give_steps_back(Entry& entry, const SizeValues& sizes) {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Entry> special = specialised_at(entry.specialised, sizes);
  for (Entry* const one : {&entry, special.get()}) {
    if (one != nullptr) move_steps_back(*one);
  }
}

}  // namespace axrun::runtime
