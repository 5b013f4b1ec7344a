#include "onnx_import/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "onnx_import/element_codes.h"
#include "onnx_import/input_file.h"
#include "onnx_import/names.h"
#include "onnx_import/opsets.h"
#include "onnx_import/tensor_writer.h"
#include "onnx_import/wire_writer.h"

namespace axrun::onnx_import {
namespace {

using ir::Attribute;
using Kind = ir::Attribute::Kind;

/// The first IR version that has every element type that is written here.
constexpr int64_t lowest_ir_version = 10;

[[noreturn]] void fail_writing(const std::string& text) {
  throw Error(Fault::user, "the model cannot be written as ONNX: " + text);
}

/// A TypeProto from ONNX's notation; nullopt when the text is not in it.
std::optional<WireWriter> type_message(std::string_view text) {
  const size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return std::nullopt;
  const std::string_view head = text.substr(0, open);
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  WireWriter message;
  WireWriter type;
  if (head == "tensor") {
    const ElementCode* code = find_element_code(inside);
    if (code == nullptr) return std::nullopt;
    message.integer(1, code->code);
    type.message(1, message);
    return type;
  }
  if (head != "seq" && head != "optional") return std::nullopt;
  const auto inner = type_message(inside);
  if (!inner) return std::nullopt;
  message.message(1, *inner);
  type.message(head == "seq" ? 4 : 9, message);
  return type;
}

WireWriter shape_message(const ir::Dims& dims) {
  WireWriter shape;
  for (const ir::Dim& dim : dims) {
    WireWriter dimension;
    if (dim.is_constant()) {
      dimension.integer(1, dim.value());
    } else {
      std::vector<std::string> names;
      dim.collect_symbols(names);
      const bool is_name = names.size() == 1 && dim == ir::Dim::symbol(names.front());
      dimension.bytes(2, is_name ? names.front() : dim.to_string());
    }
    shape.message(1, dimension);
  }
  return shape;
}

/// The ValueInfoProto of a graph input or output. Outputs may be without a type.
WireWriter value_info_message(const ir::Value& value, const std::string& name, bool is_input) {
  WireWriter info;
  info.bytes(1, name);
  if (value.type == ir::ElementType::undefined || value.kind == ir::ValueKind::map) {
    if (is_input) fail_writing(fmt::format("the type of input {} is not known", in_quotes(name)));
    return info;
  }
  WireWriter tensor;
  tensor.integer(1, element_code_of(value.type));
  if (value.dims) tensor.message(2, shape_message(*value.dims));
  WireWriter type;
  type.message(1, tensor);
  if (value.kind != ir::ValueKind::tensor) {
    WireWriter container;
    container.message(1, type);
    type = WireWriter();
    type.message(value.kind == ir::ValueKind::sequence ? 4 : 9, container);
  }
  info.message(2, type);
  return info;
}

class GraphWriter {
 public:
  explicit GraphWriter(const std::map<std::string, int>& opsets) : opsets_(opsets) {}

  WireWriter main_graph(const ir::Graph& graph) {
    UniqueNames names;
    return write(graph, std::vector<std::string>(graph.values.size()), names);
  }

 private:
  /// `value_names`: of captured values, the others empty; `names`: those of the enclosing graphs, and then of
  /// this one.
  WireWriter write(const ir::Graph& graph, std::vector<std::string> value_names, UniqueNames& names) {
    // What the caller of the model sees keeps its name.
    for (const auto* ports : {&graph.inputs, &graph.outputs}) {
      for (const ir::ValueId id : *ports) name_value(graph, id, value_names, names);
    }
    for (size_t id = 0; id < graph.values.size(); ++id) {
      name_value(graph, static_cast<ir::ValueId>(id), value_names, names);
    }
    WireWriter message;
    for (const ir::Node& node : graph.nodes) message.message(1, node_message(node, value_names, names));
    message.bytes(2, graph.name.empty() ? "graph" : graph.name);
    for (const ir::ValueId id : initializers_of(graph)) {
      message.message(5, tensor_message(value_names[static_cast<size_t>(id)], graph.value(id).constant));
    }
    for (const ir::ValueId id : graph.inputs) message.message(11, port_message(graph, id, value_names, true));
    for (const ir::ValueId id : graph.outputs)
      message.message(12, port_message(graph, id, value_names, false));
    return message;
  }

  static void name_value(const ir::Graph& graph, ir::ValueId id, std::vector<std::string>& value_names,
                         UniqueNames& names) {
    std::string& name = value_names[static_cast<size_t>(id)];
    if (!name.empty()) return;
    const std::string& wanted = graph.value(id).name;
    name = names.take(wanted.empty() ? fmt::format("value_{}", id) : wanted);
  }

  WireWriter port_message(const ir::Graph& graph, ir::ValueId id, const std::vector<std::string>& value_names,
                          bool is_input) {
    return value_info_message(graph.value(id), value_names[static_cast<size_t>(id)], is_input && depth_ == 0);
  }

  /// Constants that nothing else defines.
  static std::vector<ir::ValueId> initializers_of(const ir::Graph& graph) {
    std::vector<bool> defined(graph.values.size(), false);
    const auto mark = [&](ir::ValueId id) {
      if (id != ir::absent) defined[static_cast<size_t>(id)] = true;
    };
    for (const ir::Node& node : graph.nodes) std::for_each(node.outputs.begin(), node.outputs.end(), mark);
    std::for_each(graph.inputs.begin(), graph.inputs.end(), mark);
    for (const auto& [outer, inner] : graph.captures) mark(inner);
    std::vector<ir::ValueId> initializers;
    for (size_t id = 0; id < graph.values.size(); ++id) {
      if (graph.values[id].constant.defined() && !defined[id])
        initializers.push_back(static_cast<ir::ValueId>(id));
    }
    return initializers;
  }

  WireWriter node_message(const ir::Node& node, const std::vector<std::string>& value_names,
                          UniqueNames& names) {
    const auto opset = opsets_.find(node.domain);
    if (opset == opsets_.end() || opset->second != node.version) {
      fail_writing(fmt::format("{} {} is of version {} of {}, the model is not", node.op,
                               in_quotes(node.name), node.version, domain_name(node.domain)));
    }
    const auto name_of = [&](ir::ValueId id) {
      return id == ir::absent ? std::string() : value_names[static_cast<size_t>(id)];
    };
    WireWriter message;
    for (const ir::ValueId id : node.inputs) message.bytes(1, name_of(id));
    for (const ir::ValueId id : node.outputs) message.bytes(2, name_of(id));
    if (!node.name.empty()) message.bytes(3, node.name);
    message.bytes(4, node.op);
    for (const auto& [name, attribute] : node.attributes) {
      const bool is_type = node.op == "Optional" && node.domain.empty() && name == "type";
      message.message(5, is_type ? type_attribute(name, attribute)
                                 : attribute_message(name, attribute, value_names, names));
    }
    if (!node.domain.empty()) message.bytes(7, node.domain);
    return message;
  }

  static WireWriter type_attribute(const std::string& name, const Attribute& attribute) {
    const auto type = type_message(attribute.string);
    if (!type) fail_writing(fmt::format("{} is not a type", in_quotes(attribute.string)));
    WireWriter message;
    message.bytes(1, name);
    message.message(14, *type);
    message.integer(20, 13);
    return message;
  }

  WireWriter attribute_message(const std::string& name, const Attribute& attribute,
                               const std::vector<std::string>& value_names, UniqueNames& names) {
    WireWriter message;
    message.bytes(1, name);
    const auto finish = [&](int type) {
      message.integer(20, type);
      return std::move(message);
    };
    switch (attribute.kind) {
      case Kind::real:
        message.real(2, static_cast<float>(attribute.real));
        return finish(1);
      case Kind::integer:
        message.integer(3, attribute.integer);
        return finish(2);
      case Kind::string:
        message.bytes(4, attribute.string);
        return finish(3);
      case Kind::tensor:
        message.message(5, tensor_message({}, attribute.tensor));
        return finish(4);
      case Kind::graph:
        message.message(6, body_message(attribute.graph, value_names, names));
        return finish(5);
      case Kind::reals:
        for (const double value : attribute.reals) message.real(7, static_cast<float>(value));
        return finish(6);
      case Kind::integers:
        for (const int64_t value : attribute.integers) message.integer(8, value);
        return finish(7);
      case Kind::strings:
        for (const std::string& value : attribute.strings) message.bytes(9, value);
        return finish(8);
      case Kind::tensors:
        for (const ir::Tensor& value : attribute.tensors) message.message(10, tensor_message({}, value));
        return finish(9);
      case Kind::graphs:
        break;
    }
    for (const auto& body : attribute.graphs) message.message(11, body_message(body, value_names, names));
    return finish(10);
  }

  /// A captured value goes by the name that it has outside. No other name of a body may be one of an
  /// enclosing graph's.
  WireWriter body_message(const std::shared_ptr<ir::Graph>& body, const std::vector<std::string>& outer_names,
                          const UniqueNames& enclosing) {
    if (!body) fail_writing("a body is missing");
    std::vector<std::string> value_names(body->values.size());
    for (const auto& [outer, inner] : body->captures) {
      value_names[static_cast<size_t>(inner)] = outer_names[static_cast<size_t>(outer)];
    }
    UniqueNames names = enclosing;
    ++depth_;
    WireWriter message = write(*body, std::move(value_names), names);
    --depth_;
    return message;
  }

  const std::map<std::string, int>& opsets_;
  int depth_ = 0;
};

}  // namespace

std::string export_memory(const ir::Model& model) {
  if (!model.graph) fail_writing("it has no graph");
  WireWriter message;
  message.integer(1, std::max(model.ir_version, lowest_ir_version));
  message.bytes(2, model.producer.empty() ? "axrun" : model.producer);
  message.message(7, GraphWriter(model.opsets).main_graph(*model.graph));
  for (const auto& [domain, version] : model.opsets) {
    WireWriter opset;
    opset.bytes(1, domain);
    opset.integer(2, version);
    message.message(8, opset);
  }
  return message.take();
}

void export_file(const ir::Model& model, const std::string& path) {
  write_whole_file(path, export_memory(model));
}

}  // namespace axrun::onnx_import
