#include "onnx_import/graph_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/error_place.h"
#include "onnx_import/attributes.h"
#include "onnx_import/flex_attention.h"
#include "onnx_import/gradient/gradient.h"
#include "onnx_import/scope.h"
#include "onnx_import/tensor_data.h"
#include "onnx_import/topological_order.h"
#include "onnx_import/value_type.h"

namespace axrun::onnx_import {
namespace {

using ir::Attribute;
using ir::ValueId;

/// Outputs of nodes that are known under another name already: those of a function, to its call.
using BoundOutputs = std::unordered_map<std::string_view, ValueId>;

[[noreturn]] void fail_model(const std::string& text) { throw Error(Fault::model, text); }

bool have_same_elements(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return false;
  if (a.type() == ir::ElementType::string)
    return std::equal(a.strings(), a.strings() + a.size(), b.strings());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

class GraphBuilder {
 public:
  GraphBuilder(const FunctionLibrary& functions, ImportContext& context)
      : functions_(functions), context_(context) {}

  std::shared_ptr<ir::Graph> build(std::string_view bytes, const Opsets& opsets) {
    GraphDraft draft;
    Scope scope{.draft = draft, .opsets = opsets};
    return finish(bytes, scope);
  }

 private:
  std::shared_ptr<ir::Graph> build_body(std::string_view bytes, Scope& parent, DeclaredDims dims) {
    check_nesting(parent);
    GraphDraft draft;
    Scope scope{.draft = draft,
                .opsets = parent.opsets,
                .parent_of_body = &parent,
                .declared_dims = dims,
                .call = parent.call,
                .prefix = parent.prefix,
                .nesting = parent.nesting + 1};
    return finish(bytes, scope);
  }

  std::shared_ptr<ir::Graph> finish(std::string_view bytes, Scope& scope) {
    const auto message = read_message<GraphMessage>(bytes, context_.unknown_fields);
    scope.graph().name = printable(message.name);
    const size_t values = message.nodes.size() * 5 / 4 + message.initializers.size() + message.inputs.size();
    scope.graph().values.reserve(values);
    scope.graph().nodes.reserve(message.nodes.size());
    scope.values.reserve(values);
    scope.draft.node_names.reserve(message.nodes.size());
    add_initializers(scope, message);
    add_inputs(scope, message);
    std::vector<NodeMessage> nodes;
    nodes.reserve(message.nodes.size());
    for (const std::string_view node : message.nodes) {
      nodes.push_back(read_message<NodeMessage>(node, context_.unknown_fields));
    }
    add_nodes(scope, nodes, {});
    add_outputs(scope, message);
    sort_nodes(scope.graph());
    if (context_.options.check_operators) replace_composed(scope.draft);
    scope.draft.finish_names();
    return scope.draft.graph;
  }

  // Values of a graph
  // -------------------------------------------------------------------------------------------------------

  static void define(Scope& scope, std::string_view name, ValueId id, const Origin& role) {
    if (name.empty()) fail_model(role.text() + " has no name");
    if (!scope.values.emplace(name, id).second) {
      fail_model(
          fmt::format("the value {} is defined twice, the second time as {}", in_quotes(name), role.text()));
    }
  }

  static void set_constant(ir::Value& value, ir::Tensor tensor) {
    if (!tensor.defined()) return;  // unsupported, and noted
    value.type = tensor.type();
    value.dims = ir::to_dims(tensor.shape());
    value.constant = std::move(tensor);
  }

  /// A constant may be defined twice, as the same. Of different ones ONNX Runtime takes the last, whatever
  /// was meant.
  void define_again(const Scope& scope, std::string_view name, ValueId id, const ir::Tensor& tensor) {
    if (!tensor.defined()) return;  // unsupported, and noted
    const ir::Tensor& first = scope.graph().value(id).constant;
    if (!first.defined() || !have_same_elements(first, tensor)) {
      fail_model(
          fmt::format("the value {} is defined twice, as different constants (ONNX Runtime takes the last)",
                      in_quotes(name)));
    }
    context_.note(fmt::format("the constant {} is defined twice", in_quotes(name)));
  }

  void add_initializers(Scope& scope, const GraphMessage& message) {
    const auto add = [&](std::string_view name, ir::Tensor tensor) {
      if (const auto known = scope.values.find(name); known != scope.values.end()) {
        define_again(scope, name, known->second, tensor);
        return;
      }
      const ValueId id = scope.add_value(name);
      define(scope, name, id, {"an initializer", {}});
      set_constant(scope.graph().value(id), std::move(tensor));
    };
    for (const std::string_view bytes : message.initializers) {
      const auto tensor = read_message<TensorMessage>(bytes, context_.unknown_fields);
      add(tensor.name, tensor_of(tensor, Origin{"initializer", tensor.name}, context_));
    }
    for (const std::string_view bytes : message.sparse_initializers) {
      const auto tensor = read_message<SparseTensorMessage>(bytes, context_.unknown_fields);
      std::string_view name;
      if (tensor.values) name = read_message<TensorMessage>(*tensor.values, context_.unknown_fields).name;
      add(name, tensor_of(tensor, Origin{"sparse initializer", name}, context_));
    }
  }

  void add_inputs(Scope& scope, const GraphMessage& message) {
    ir::Graph& graph = scope.graph();
    const bool is_body = scope.parent_of_body != nullptr;
    const auto first_input = static_cast<ValueId>(graph.values.size());
    DeclaredTypes types(context_);
    std::vector<std::pair<ValueId, ValueInfoMessage>> inputs;
    for (const std::string_view bytes : message.inputs) {
      const auto input = read_message<ValueInfoMessage>(bytes, context_.unknown_fields);
      const auto known = scope.values.find(input.name);
      if (known != scope.values.end() && known->second < first_input) continue;  // has an initializer
      const ValueId id = scope.add_value(input.name);
      define(scope, input.name, id, {"a graph input", {}});
      graph.inputs.push_back(id);
      if (is_body) {
        const size_t with_dims = scope.declared_dims == DeclaredDims::unread ? 0
                                 : scope.declared_dims == DeclaredDims::loop ? 2
                                                                             : SIZE_MAX;
        types.set_body_type(graph.value(id), input, graph.inputs.size() <= with_dims);
      } else {
        inputs.emplace_back(id, input);
      }
    }
    if (!is_body) types.set_types(graph, inputs);
  }

  void add_outputs(Scope& scope, const GraphMessage& message) {
    for (const std::string_view bytes : message.outputs) {
      const auto output = read_message<ValueInfoMessage>(bytes, context_.unknown_fields);
      const auto id = scope.find(output.name);
      if (!id || *id == ir::absent) {
        fail_model(fmt::format("output {} of graph {} is never computed", in_quotes(output.name),
                               in_quotes(scope.graph().name)));
      }
      scope.graph().outputs.push_back(*id);
      ir::Value& value = scope.graph().value(*id);
      const bool is_typed = value.type != ir::ElementType::undefined;
      DeclaredTypes types(context_);
      if (scope.declared_dims == DeclaredDims::loop && !value.constant.defined()) {
        ir::Value declared = value;
        types.set_body_type(declared, output, true);
        if (!is_typed) std::tie(value.kind, value.type) = std::tie(declared.kind, declared.type);
        if (!value.dims) value.dims = declared.dims;
      } else if (!is_typed) {
        types.set_output_kind(value, output);
      }
      if (scope.parent_of_body == nullptr) context_.declared_outputs.push_back(types.declared_output(output));
    }
  }

  void count_nodes(int64_t more) {
    context_.nodes += more;
    if (context_.nodes > context_.options.max_nodes) {
      throw Error(Fault::unsupported,
                  fmt::format("the model has more than {} nodes", context_.options.max_nodes));
    }
  }

  /// What is defined by graphs becomes ordinary nodes.
  void replace_composed(GraphDraft& draft) {
    const size_t written = draft.graph->nodes.size();
    expand_flex_attention(draft, context_.options.max_nodes);
    expand_gradients(draft, context_.options.max_nodes);
    const size_t now = draft.graph->nodes.size();
    if (now > written) count_nodes(static_cast<int64_t>(now - written));
  }

  // Nodes
  // -------------------------------------------------------------------------------------------------------

  void add_nodes(Scope& scope, const std::vector<NodeMessage>& nodes, const BoundOutputs& bound) {
    count_nodes(static_cast<int64_t>(nodes.size()));
    std::vector<std::string> names = name_nodes(scope, nodes);
    // All outputs first: a node may come before those that it reads, in its own graph or an enclosing one.
    std::vector<std::vector<ValueId>> outputs(nodes.size());
    std::set<ValueId> constants;
    for (size_t k = 0; k < nodes.size(); ++k) {
      const bool constant = is_constant(nodes[k]) && nodes[k].outputs.size() == 1;
      if (constant && is_known_constant(scope, nodes[k].outputs.front(), constants)) {
        outputs[k] = {scope.values.at(nodes[k].outputs.front())};
        continue;
      }
      outputs[k] = define_outputs(scope, nodes[k], names[k], bound);
      if (constant) constants.insert(outputs[k].front());
    }
    // Then all constants: bodies copy them instead of capturing them.
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (is_constant(nodes[k])) add_constant(scope, nodes[k], names[k], outputs[k]);
    }
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (is_constant(nodes[k])) continue;
      if (const Function* function = functions_.find(nodes[k])) {
        inline_call(scope, nodes[k], names[k], outputs[k], *function);
      } else {
        add_node(scope, nodes[k], std::move(names[k]), std::move(outputs[k]));
      }
    }
  }

  /// Whether a name is that of an initializer or of one of the Constant nodes.
  static bool is_known_constant(const Scope& scope, std::string_view name,
                                const std::set<ValueId>& constants) {
    const auto known = scope.values.find(name);
    if (known == scope.values.end() || known->second == ir::absent) return false;
    return constants.count(known->second) != 0 || scope.graph().value(known->second).constant.defined();
  }

  static std::vector<ValueId> define_outputs(Scope& scope, const NodeMessage& message,
                                             const std::string& name, const BoundOutputs& bound) {
    std::vector<ValueId> outputs;
    outputs.reserve(message.outputs.size());
    for (const std::string_view output : message.outputs) {
      ValueId id = ir::absent;
      if (!output.empty()) {
        const auto known = bound.find(output);
        id = known != bound.end() ? known->second : scope.add_value(output);
        const Origin node{message.op_type, name};
        define(scope, output, id, {"an output", {}, &node});
      }
      outputs.push_back(id);
    }
    return outputs;
  }

  static std::vector<std::string> name_nodes(Scope& scope, const std::vector<NodeMessage>& nodes) {
    std::vector<std::string> names(nodes.size());
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (nodes[k].op_type.empty())
        fail_model(fmt::format("node {} has no operator", in_quotes(nodes[k].name)));
      if (nodes[k].name.empty()) continue;
      names[k] = scope.draft.node_names.take(scope.prefix, nodes[k].name);
    }
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (!nodes[k].name.empty()) continue;
      const std::string_view output =
          nodes[k].outputs.empty() ? std::string_view() : nodes[k].outputs.front();
      names[k] = scope.draft.node_names.take(
          fmt::format("{}{}_{}", scope.prefix, printable(nodes[k].op_type), printable(output)));
    }
    return names;
  }

  bool is_constant(const NodeMessage& node) const {
    return node.op_type == "Constant" && plain_domain(node.domain).empty() &&
           functions_.find(node) == nullptr;
  }

  void add_constant(Scope& scope, const NodeMessage& message, const std::string& name,
                    const std::vector<ValueId>& outputs) {
    const Origin what{message.op_type, name};
    if (!message.inputs.empty()) fail_model(what.text() + " has inputs");
    if (message.outputs.size() != 1)
      fail_model(fmt::format("{} has {} outputs", what.text(), outputs.size()));
    ir::Node node;
    node.attributes = attributes_of(scope, message, name);
    ir::Tensor tensor = constant_of(node, what);
    if (outputs.front() == ir::absent) return;
    ir::Value& value = scope.graph().value(outputs.front());
    if (value.constant.defined()) {
      define_again(scope, message.outputs.front(), outputs.front(), tensor);
    } else {
      set_constant(value, std::move(tensor));
    }
  }

  void add_node(Scope& scope, const NodeMessage& message, std::string name, std::vector<ValueId> outputs) {
    ir::Node node;
    node.name = std::move(name);
    node.domain = printable(plain_domain(message.domain));
    node.op = printable(message.op_type);
    node.outputs = std::move(outputs);
    try {
      complete_node(scope, message, node);
    } catch (const Error& error) {
      throw_as(error, error.what(), ErrorPlace::of_node(node.name, node.op));
    }
    scope.graph().nodes.push_back(std::move(node));
  }

  /// What a node has besides its names and its outputs.
  void complete_node(Scope& scope, const NodeMessage& message, ir::Node& node) {
    node.version = version_of(node, scope.opsets, context_);
    if (!message.overload.empty()) {
      fail_model(fmt::format("{} {}: the model has no function of overload {}", node.op, in_quotes(node.name),
                             in_quotes(message.overload)));
    }
    node.inputs = inputs_of(scope, message, node.name);
    node.attributes = attributes_of(scope, message, node.name);
    find_operator_of(node, context_);
    if (is_gradient(node) && context_.options.check_operators) bind_gradient(scope, node);
  }

  /// Replaces the names in a Gradient's attributes by the numbers of the values that they have here.
  void bind_gradient(Scope& scope, ir::Node& node) {
    const auto number_of = [&](const std::string& name) {
      const auto id = scope.find(gradient_names_.emplace_back(name));
      if (!id || *id == ir::absent) {
        fail_model(fmt::format("Gradient {}: {} is not defined", in_quotes(node.name), in_quotes(name)));
      }
      return *id;
    };
    for (auto& [key, attribute] : node.attributes) {
      if (key != "xs" && key != "zs" && key != "y") continue;
      for (const std::string& name : attribute.strings) attribute.integers.push_back(number_of(name));
      if (key == "y") attribute.integer = number_of(attribute.string);
      attribute.kind = key == "y" ? Attribute::Kind::integer : Attribute::Kind::integers;
    }
  }

  static std::vector<ValueId> inputs_of(Scope& scope, const NodeMessage& message, const std::string& name) {
    std::vector<ValueId> inputs;
    inputs.reserve(message.inputs.size());
    for (const std::string_view input : message.inputs) {
      const auto id = input.empty() ? ir::absent : scope.find(input);
      if (!id) {
        fail_model(fmt::format("{} {} reads {}, which nothing defines", printable(message.op_type),
                               in_quotes(name), in_quotes(input)));
      }
      inputs.push_back(*id);
    }
    return inputs;
  }

  std::map<std::string, Attribute> attributes_of(Scope& scope, const NodeMessage& message,
                                                 const std::string& node_name) {
    std::map<std::string, Attribute> attributes;
    const bool is_loop = message.op_type == "Loop" && plain_domain(message.domain).empty();
    const DeclaredDims dims = is_loop                             ? DeclaredDims::loop
                              : message.domain == "com.microsoft" ? DeclaredDims::inputs
                                                                  : DeclaredDims::unread;
    for (const std::string_view bytes : message.attributes) {
      const auto attribute = read_message<AttributeMessage>(bytes, context_.unknown_fields);
      const Origin node{message.op_type, node_name};
      const Origin what{"attribute", attribute.name, &node};
      const auto [place, is_new] = attributes.try_emplace(std::string(attribute.name));
      if (!is_new) fail_model(what.text() + " is given twice");
      if (attribute.ref_attr_name.empty()) {
        place->second = attribute_of(attribute, what, context_,
                                     [&](std::string_view graph) { return build_body(graph, scope, dims); });
      } else if (const Attribute* value = referenced_attribute(scope, attribute, what)) {
        place->second = *value;
      } else {
        attributes.erase(place);
      }
    }
    return attributes;
  }

  /// What a call gives to the attribute of its function that is referred to; nullptr when it gives nothing
  /// and there is no default: then the attribute is absent.
  static const Attribute* referenced_attribute(const Scope& scope, const AttributeMessage& attribute,
                                               const Origin& what) {
    if (scope.call == nullptr)
      fail_model(what.text() + " refers to an attribute of a function, but is in none");
    const auto found = scope.call->attributes.find(std::string(attribute.ref_attr_name));
    if (found == scope.call->attributes.end()) return nullptr;
    const Attribute& value = found->second;
    if (attribute.type != 0 && kind_of_attribute_type(attribute.type, what) != value.kind) {
      fail_model(fmt::format("{} must be {}; the call gives {}", what.text(),
                             kind_name(kind_of_attribute_type(attribute.type, what)), kind_name(value.kind)));
    }
    return &value;
  }

  void check_nesting(const Scope& scope) const {
    if (scope.nesting < context_.options.max_nesting) return;
    throw Error(Fault::unsupported, fmt::format("graph {}: graphs and functions are nested more than {} deep",
                                                in_quotes(scope.graph().name), context_.options.max_nesting));
  }

  // Functions
  // -------------------------------------------------------------------------------------------------------

  void check_call(const Scope& scope, const Function& function) {
    check_nesting(scope);
    std::string chain = in_quotes(function.name);
    for (const FunctionCall* call = scope.call; call != nullptr; call = call->caller) {
      chain = in_quotes(call->function.name) + " -> " + chain;
      if (&call->function == &function) fail_model("a function calls itself: " + chain);
    }
    context_.inlined_bytes += function.bytes;
    if (context_.inlined_bytes > context_.options.max_inlined_bytes) {
      throw Error(Fault::unsupported,
                  fmt::format("the model has more than {} bytes of functions once inlined",
                              context_.options.max_inlined_bytes));
    }
  }

  void inline_call(Scope& scope, const NodeMessage& message, const std::string& name,
                   const std::vector<ValueId>& outputs, const Function& function) {
    check_call(scope, function);
    const Origin callee{"function", function.name};
    const Origin what{"the call", name, &callee};
    if (message.inputs.size() > function.inputs.size() || message.outputs.size() > function.outputs.size()) {
      fail_model(what.text() + " has more inputs or outputs than the function");
    }
    FunctionCall call{function, attributes_of(scope, message, name), scope.call};
    for (const auto& [key, attribute] : call.attributes) {
      if (attribute.kind != Attribute::Kind::graph && attribute.kind != Attribute::Kind::graphs) continue;
      context_.unsupported.push_back(fmt::format("{}: a graph as attribute {}", what.text(), in_quotes(key)));
    }
    call.attributes.insert(function.defaults.begin(), function.defaults.end());
    Scope inner{.draft = scope.draft,
                .opsets = function.opsets,
                .call = &call,
                .prefix = name + "/",
                .nesting = scope.nesting + 1};
    const std::vector<ValueId> inputs = inputs_of(scope, message, name);
    for (size_t k = 0; k < function.inputs.size(); ++k) {
      inner.values.emplace(function.inputs[k], k < inputs.size() ? inputs[k] : ir::absent);
    }
    BoundOutputs bound;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k] != ir::absent) bound.emplace(function.outputs[k], outputs[k]);
    }
    add_nodes(inner, function.nodes, bound);
    for (const auto& [output, id] : bound) {
      const auto computed = inner.values.find(output);
      if (computed == inner.values.end() || computed->second == ir::absent) {
        fail_model(
            fmt::format("{}: the function never computes its output {}", what.text(), in_quotes(output)));
      }
      if (computed->second != id) add_identity(inner, computed->second, id);
    }
  }

  /// For an output of a function that is one of its inputs.
  void add_identity(Scope& scope, ValueId from, ValueId to) {
    ir::Node node;
    node.name = scope.draft.node_names.take(scope.prefix + "Identity_" + scope.graph().value(to).name);
    node.op = "Identity";
    const auto version = scope.opsets.find("");
    node.version = version != scope.opsets.end() ? version->second : 1;
    node.inputs = {from};
    node.outputs = {to};
    scope.graph().nodes.push_back(std::move(node));
    ++context_.nodes;
  }

  const FunctionLibrary& functions_;
  ImportContext& context_;
  std::deque<std::string> gradient_names_;  ///< scopes keep views of them
};

}  // namespace

std::shared_ptr<ir::Graph> build_graph(std::string_view graph_bytes, const Opsets& opsets,
                                       const FunctionLibrary& functions, ImportContext& context) {
  return GraphBuilder(functions, context).build(graph_bytes, opsets);
}

}  // namespace axrun::onnx_import
