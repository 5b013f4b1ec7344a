#include "runtime/output_ports.h"

#include <algorithm>

namespace axrun::runtime {

std::vector<std::string> input_size_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (const ir::ValueId id : graph.inputs) {
    if (!graph.value(id).dims) continue;
    for (const ir::Dim& dim : *graph.value(id).dims) dim.collect_symbols(names);
  }
  std::vector<std::string> once;
  for (std::string& name : names) {
    if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(std::move(name));
  }
  return once;
}

Port completed_port(Port inferred, const ir::Value& declared, const std::vector<std::string>& names) {
  if (inferred.type == ir::ElementType::undefined) {
    inferred.kind = declared.kind;
    inferred.type = declared.type;
  }
  if (inferred.kind != ir::ValueKind::tensor || !declared.dims) return inferred;
  if (!inferred.dims) {
    inferred.dims = declared.dims;
    return inferred;
  }
  if (inferred.dims->size() != declared.dims->size()) return inferred;
  for (size_t axis = 0; axis < inferred.dims->size(); ++axis) {
    std::vector<std::string> used;
    (*inferred.dims)[axis].collect_symbols(used);
    const bool follows = std::all_of(used.begin(), used.end(), [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
    if (!follows) (*inferred.dims)[axis] = (*declared.dims)[axis];
  }
  return inferred;
}

}  // namespace axrun::runtime
