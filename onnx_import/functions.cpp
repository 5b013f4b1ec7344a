#include "onnx_import/functions.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/error.h"
#include "onnx_import/attributes.h"
#include "onnx_import/names.h"

namespace axrun::onnx_import {
namespace {

void require_distinct(std::vector<std::string_view> names, const Origin& what, const char* role) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    throw Error(Fault::model, fmt::format("{} has two {}s called {}", what.text(), role, in_quotes(*twice)));
  }
}

std::map<std::string, ir::Attribute> read_defaults(const std::vector<std::string_view>& messages,
                                                   const Origin& what, ImportContext& context) {
  std::map<std::string, ir::Attribute> defaults;
  for (const std::string_view bytes : messages) {
    const auto message = read_message<AttributeMessage>(bytes, context.unknown_fields);
    const Origin which{"attribute", message.name, &what};
    const auto refuse_graph = [&](std::string_view) -> std::shared_ptr<ir::Graph> {
      context.unsupported.push_back(which.text() + ": a graph as a default");
      return nullptr;
    };
    auto attribute = attribute_of(message, which, context, refuse_graph);
    if (!defaults.emplace(message.name, std::move(attribute)).second) {
      throw Error(Fault::model, which.text() + " is declared twice");
    }
  }
  return defaults;
}

}  // namespace

FunctionLibrary::FunctionLibrary(const std::vector<std::string_view>& messages, const Opsets& model_opsets,
                                 ImportContext& context) {
  for (const std::string_view bytes : messages) {
    auto message = read_message<FunctionMessage>(bytes, context.unknown_fields);
    const Origin what{"function", message.name};
    Function function;
    function.name = message.name;
    require_distinct(message.inputs, what, "input");
    require_distinct(message.outputs, what, "output");
    function.inputs = std::move(message.inputs);
    function.outputs = std::move(message.outputs);
    for (const std::string_view node : message.nodes) {
      function.nodes.push_back(read_message<NodeMessage>(node, context.unknown_fields));
    }
    function.defaults = read_defaults(message.attribute_protos, what, context);
    function.opsets = read_opsets(message.opsets, context);
    function.opsets.insert(model_opsets.begin(), model_opsets.end());
    function.bytes = static_cast<int64_t>(bytes.size());
    const Key key{plain_domain(message.domain), message.name, message.overload};
    if (!functions_.emplace(key, std::move(function)).second) {
      throw Error(Fault::model,
                  fmt::format("{} of domain {} is defined twice", what.text(), domain_name(message.domain)));
    }
  }
}

const Function* FunctionLibrary::find(const NodeMessage& node) const {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find({plain_domain(node.domain), node.op_type, node.overload});
  return found == functions_.end() ? nullptr : &found->second;
}

}  // namespace axrun::onnx_import
