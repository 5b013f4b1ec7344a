#include "onnx_import/scope.h"

#include <utility>

namespace axrun::onnx_import {

ir::ValueId Scope::add_value(std::string_view name) {
  ir::Value value;
  value.name = prefix + printable(name);
  const bool made_up = value.name != name;
  const ir::ValueId id = graph().add_value(std::move(value));
  if (made_up) draft.made_up.push_back(id);
  return id;
}

void GraphDraft::finish_names() {
  if (made_up.empty()) return;
  std::vector<bool> is_made_up(graph->values.size(), false);
  for (const ir::ValueId id : made_up) is_made_up[static_cast<size_t>(id)] = true;
  UniqueNames names;
  for (size_t id = 0; id < is_made_up.size(); ++id) {
    if (!is_made_up[id]) names.exclude(graph->values[id].name);
  }
  for (const ir::ValueId id : made_up) graph->value(id).name = names.take(graph->value(id).name);
}

std::optional<ir::ValueId> Scope::find(std::string_view name) {
  if (const auto found = values.find(name); found != values.end()) return found->second;
  if (parent_of_body == nullptr) return std::nullopt;
  const auto outer = parent_of_body->find(name);
  if (!outer) return std::nullopt;
  ir::ValueId id = ir::absent;
  if (*outer != ir::absent) {
    id = add_value(name);
    const ir::Value& source = parent_of_body->graph().value(*outer);
    ir::Value& value = graph().value(id);
    value.kind = source.kind;
    value.type = source.type;
    value.dims = source.dims;
    value.constant = source.constant;
    if (!value.constant.defined()) graph().captures.emplace_back(*outer, id);
  }
  values.emplace(name, id);
  return id;
}

}  // namespace axrun::onnx_import
