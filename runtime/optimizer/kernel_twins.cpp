// Graphs that compute what others do: the part of the library that knows what is the same in both.
#include <algorithm>

#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_library.h"

namespace axrun::runtime {

void KernelLibrary::serve_as(const ir::Graph& graph, const std::vector<int>& nodes, const ir::Graph& other,
                             const std::vector<int>& twins) {
  const Change change(*this);
  const auto found = forms_.find({&graph, nodes});
  if (found != forms_.end()) forms_[{&other, twins}] = std::vector(found->second);
  const auto joined = joined_.find(&graph);
  const bool is_joint = joined != joined_.end() && std::find(joined->second.begin(), joined->second.end(),
                                                             nodes) != joined->second.end();
  if (is_joint) joined_[&other].push_back(twins);
}

void KernelLibrary::forget(const ir::Graph& graph) {
  const Change change(*this);
  std::erase_if(forms_, [&](const auto& form) { return form.first.first == &graph; });
  joined_.erase(&graph);
}

bool KernelLibrary::know_joined(const ir::Graph& graph, const std::vector<int>& nodes) {
  const Change change(*this);
  std::vector<std::vector<int>>& known = joined_[&graph];
  if (std::find(known.begin(), known.end(), nodes) != known.end()) return false;
  known.push_back(nodes);
  return true;
}

}  // namespace axrun::runtime
