// Graphs that compute what others do: the part of the library that knows what is the same in both.
#include <algorithm>

#include "runtime/optimizer/kernel_entry.h"
#include "runtime/optimizer/kernel_library.h"

namespace axrun::runtime {

void KernelLibrary::serve_as(const ir::Graph& graph, const std::vector<int>& nodes, const ir::Graph& other,
                             const std::vector<int>& twins) {
  Change change(*this);
  const auto found = groups_.find({&graph, nodes});
  if (found != groups_.end()) {
    const std::vector<std::shared_ptr<Form>> forms = found->second.forms;
    Group& twin = groups_[{&other, twins}];
    twin.forms = forms;
    change.of(twin);
  }
  const auto joined = joined_.find(&graph);
  const bool is_joint = joined != joined_.end() && std::find(joined->second.begin(), joined->second.end(),
                                                             nodes) != joined->second.end();
  if (!is_joint) return;
  joined_[&other].push_back(twins);
  change.of_joined();
}

void KernelLibrary::forget(const ir::Graph& graph) {
  Change change(*this);
  std::erase_if(groups_, [&](const auto& group) { return group.first.first == &graph; });
  if (joined_.erase(&graph) > 0) change.of_joined();
}

bool KernelLibrary::know_joined(const ir::Graph& graph, const std::vector<int>& nodes) {
  Change change(*this);
  std::vector<std::vector<int>>& known = joined_[&graph];
  if (std::find(known.begin(), known.end(), nodes) != known.end()) return false;
  known.push_back(nodes);
  change.of_joined();
  return true;
}

}  // namespace axrun::runtime
