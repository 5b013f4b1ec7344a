// What a session knows of its inputs' sizes, and what it takes.
#include <fmt/format.h>

#include <algorithm>

#include "ir/error_place.h"
#include "runtime/session_state.h"

namespace axrun::runtime {

using ir::ValueId;

namespace {

[[noreturn]] void refuse_input(const std::string& name, const std::string& why) {
  throw PlacedError(Fault::user, fmt::format("input '{}' {}", name, why), ErrorPlace::of_input(name));
}

}  // namespace

std::map<std::string, ir::Dim> SessionState::fix_sizes() {
  ir::Graph& graph = *model.graph;
  std::map<std::string, ir::Dim> sizes;
  std::vector<std::string> names;
  for (ValueId id : graph.inputs) {
    if (graph.value(id).dims) {
      for (const ir::Dim& dim : *graph.value(id).dims) dim.collect_symbols(names);
    }
  }
  for (const auto& [name, size] : options.dims) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(Fault::user, fmt::format("no input has a dimension named '{}'", name));
    }
    if (size < 0) throw Error(Fault::user, fmt::format("dimension '{}' cannot be {}", name, size));
    sizes.emplace(name, ir::Dim(size));
  }
  // A fixed shape fixes the names in it, for every input that has them.
  for (const auto& [name, shape] : options.shapes) {
    const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(),
                                    [&](ValueId id) { return graph.value(id).name == name; });
    if (input == graph.inputs.end())
      throw Error(Fault::user, fmt::format("the model has no input '{}'", name));
    ir::Value& value = graph.value(*input);
    if (value.dims) {
      if (value.dims->size() != shape.size()) {
        refuse_input(name,
                     fmt::format("has shape {}, not rank {}", ir::to_string(*value.dims), shape.size()));
      }
      for (size_t d = 0; d < shape.size(); ++d) {
        const ir::Dim& dim = (*value.dims)[d];
        if (dim.is_constant() && dim.value() != shape[d]) {
          refuse_input(name,
                       fmt::format("has shape {}, not {}", ir::to_string(*value.dims), ir::to_string(shape)));
        }
        std::vector<std::string> symbols;
        dim.collect_symbols(symbols);
        if (symbols.size() == 1 && ir::Dim::symbol(symbols[0]) == dim)
          sizes.emplace(symbols[0], ir::Dim(shape[d]));
      }
    }
    value.dims = ir::to_dims(shape);
  }
  for (ValueId id : graph.inputs) {
    ir::Value& value = graph.value(id);
    if (!value.dims || sizes.empty()) continue;
    for (ir::Dim& dim : *value.dims) dim = dim.substitute(sizes);
  }
  return sizes;
}

void SessionState::note_named_sizes() {
  struct Place {
    size_t input, axis;
  };
  std::map<std::string, Place> first;
  same_sizes.resize(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    // Values of other kinds have no shape that a run could look at.
    if (inputs[k].kind != ir::ValueKind::tensor || !inputs[k].dims) continue;
    for (size_t d = 0; d < inputs[k].dims->size(); ++d) {
      const ir::Dim& dim = (*inputs[k].dims)[d];
      if (dim.is_constant()) continue;
      const auto [place, is_new] = first.try_emplace(dim.to_string(), Place{k, d});
      if (!is_new) same_sizes[k].push_back({d, place->second.input, place->second.axis});
    }
  }
}

void SessionState::check(const std::vector<RuntimeValue>& given) const {
  if (given.size() != inputs.size()) {
    throw Error(Fault::user,
                fmt::format("the model has {} inputs, {} were given", inputs.size(), given.size()));
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const Port& port = inputs[k];
    const RuntimeValue& value = given[k];
    if (!value.present()) {
      if (port.kind == ir::ValueKind::optional) continue;
      refuse_input(port.name, "is missing");
    }
    if (port.kind != ir::ValueKind::tensor) {
      if (value.kind == ir::ValueKind::tensor && port.kind == ir::ValueKind::optional) continue;
      if (value.kind != port.kind) refuse_input(port.name, "has the wrong kind");
      continue;
    }
    if (value.kind != ir::ValueKind::tensor) refuse_input(port.name, "must be a tensor");
    const auto refuse = [&](const std::string& why) {
      refuse_input(port.name, fmt::format("is {} {}, but the model takes {} {}{}", ir::name_of(value.type),
                                          ir::to_string(value.tensor.shape()), ir::name_of(port.type),
                                          port.dims ? ir::to_string(*port.dims) : "of any rank", why));
    };
    if (port.type != ir::ElementType::undefined && value.tensor.type() != port.type) refuse("");
    if (!port.dims) continue;
    const ir::Shape& shape = value.tensor.shape();
    if (shape.size() != port.dims->size()) refuse("");
    for (size_t d = 0; d < shape.size(); ++d) {
      const ir::Dim& dim = (*port.dims)[d];
      if (dim.is_constant() && dim.value() != shape[d]) refuse("");
    }
    for (const SameSize& same : same_sizes[k]) {
      const int64_t known = given[same.first_input].tensor.shape()[same.first_axis];
      if (known == shape[same.axis]) continue;
      refuse(fmt::format(", and {} is {} in another input", (*port.dims)[same.axis].to_string(), known));
    }
  }
}

}  // namespace axrun::runtime
