#include "runtime/onnxruntime_ep/model_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "ir/tensor.h"
#include "onnx_import/wire_writer.h"
#include "runtime/onnxruntime_ep/attributes.h"
#include "runtime/onnxruntime_ep/host_value.h"
#include "runtime/onnxruntime_ep/shared_tensor.h"

// Numbers of fields and of attribute types: onnx.proto.

namespace axrun::ort {
namespace {

using onnx_import::WireWriter;

/// Constants below this are part of the message: the importer copies small ones anyway.
constexpr std::size_t inline_bytes = 1024;

class Writer {
 public:
  Writer(const Host& host, Constants constants) : host_(host), constants_(constants) {}

  WrittenModel write(const GraphPart& part) {
    WireWriter graph;
    std::set<std::string> defined;
    for (const ValueInfo* input : part.inputs) {
      const std::string name = name_of(host_, input);
      defined.insert(name);
      graph.message(11, port(input, part.sized != nullptr && part.sized->count(name) > 0));
    }
    for (const Node* node : part.nodes) {
      for (const ValueInfo* value : reads_of(host_, node)) add_constant(graph, value, defined);
    }
    for (const Node* node : part.nodes) graph.message(1, write_node(node));
    graph.bytes(2, "partition");
    for (const ValueInfo* output : part.outputs) graph.message(12, port(output, false));

    WireWriter model;
    std::int64_t ir_version = 0;
    host_.call(graph_ir_version, part.graph, &ir_version);
    model.integer(1, ir_version < 4 ? 4 : ir_version);
    model.bytes(2, "ONNX Runtime");
    model.message(7, graph);
    add_opsets(model, part.graph);
    written_.bytes = model.take();
    return std::move(written_);
  }

 private:
  /// The runtime lists every domain that it knows: only those that occur are imported.
  void add_opsets(WireWriter& model, const Graph* graph) {
    std::size_t count = 0;
    host_.call(graph_opset_count, graph, &count);
    std::vector<const char*> domains(count);
    std::vector<std::int64_t> versions(count);
    if (count > 0) host_.call(graph_opsets, graph, domains.data(), versions.data(), count);
    for (std::size_t k = 0; k < count; ++k) {
      const std::string domain =
          domains[k] == nullptr || std::strcmp(domains[k], "ai.onnx") == 0 ? "" : domains[k];
      if (domains_.count(domain) == 0) continue;
      WireWriter opset;
      opset.bytes(1, domain);
      opset.integer(2, versions[k]);
      model.message(8, opset);
    }
  }

  /// A ValueInfoProto.
  WireWriter port(const ValueInfo* value, bool with_sizes) {
    WireWriter info;
    info.bytes(1, name_of(host_, value));
    const TypeInfo* type_info = nullptr;
    host_.call(value_type_info, value, &type_info);
    const int type = tensor_type(host_, value);
    if (type == 0) return info;
    WireWriter tensor;
    tensor.integer(1, type);
    if (with_sizes) add_shape(tensor, type_info);
    WireWriter tensor_type_message;
    tensor_type_message.message(1, tensor);
    info.message(2, tensor_type_message);
    return info;
  }

  void add_shape(WireWriter& tensor, const TypeInfo* type_info) {
    const TensorInfo* info = nullptr;
    host_.call(as_tensor_info, type_info, &info);
    std::size_t rank = 0;
    host_.call(dim_count, info, &rank);
    // Before 1.24 a scalar and a tensor of unknown rank look the same.
    if (rank == 0 && (host_.version() < 24 || !host_.get(has_shape, info))) return;
    std::vector<std::int64_t> dims(rank);
    std::vector<const char*> names(rank);
    if (rank > 0) {
      host_.call(get_dims, info, dims.data(), rank);
      host_.call(symbolic_dims, info, names.data(), rank);
    }
    WireWriter shape;
    for (std::size_t d = 0; d < rank; ++d) {
      WireWriter dimension;
      if (dims[d] >= 0) {
        dimension.integer(1, dims[d]);
      } else if (names[d] != nullptr && names[d][0] != '\0') {
        dimension.bytes(2, names[d]);
      }
      shape.message(1, dimension);
    }
    tensor.message(2, shape);
  }

  void add_constant(WireWriter& graph, const ValueInfo* value, std::set<std::string>& defined) {
    if (!is_constant(host_, value)) return;
    const std::string name = name_of(host_, value);
    if (!defined.insert(name).second) return;
    const Value* constant = nullptr;
    host_.call(initializer_value, value, &constant);
    if (constant == nullptr) throw Error(Fault::model, fmt::format("the constant '{}' has no value", name));
    graph.message(5, tensor_message(constant, name));
  }

  /// A TensorProto. inside: with all of its bytes, because the runtime's tensor goes soon.
  WireWriter tensor_message(const Value* value, const std::string& name, bool inside = false) {
    const ValueShape shape = shape_of(host_, value);
    WireWriter tensor;
    for (const std::int64_t dim : shape.dims) tensor.integer(1, dim);
    tensor.integer(2, shape.type);
    tensor.bytes(8, name);
    if (shape.type == string_type) {
      for (const std::string& text : strings_of(host_, value, shape)) tensor.bytes(6, text);
      return tensor;
    }
    const std::string_view data = bytes_of(host_, value);
    if (data.empty()) return tensor;
    if (inside || constants_ == Constants::inside || data.size() < inline_bytes) {
      tensor.bytes(9, data);
      return tensor;
    }
    const std::string location = fmt::format("constant {}", written_.options.memory_files.size());
    WireWriter entry;
    entry.bytes(1, "location");
    entry.bytes(2, location);
    tensor.message(13, entry);
    tensor.integer(14, 1);
    written_.options.memory_files.emplace(location, kept(value, data));
    return tensor;
  }

  onnx_import::MemoryFile kept(const Value* value, std::string_view data) const {
    if (constants_ == Constants::borrowed) {
      return {data.data(), data.size(),
              std::shared_ptr<const void>(std::shared_ptr<const void>(), data.data())};
    }
    if (auto owner = shared_owner(host_, value)) return {data.data(), data.size(), std::move(owner)};
    auto copy = std::make_shared<ir::Tensor>(
        ir::Tensor::allocate_uninitialized(ir::ElementType::u8, {static_cast<std::int64_t>(data.size())}));
    std::memcpy(copy->data(), data.data(), data.size());
    const void* const address = copy->data();
    return {address, data.size(), std::move(copy)};
  }

  /// A NodeProto.
  WireWriter write_node(const Node* node) {
    WireWriter message;
    for (const ValueInfo* input : host_.list(node_input_count, node_inputs, node)) {
      message.bytes(1, input == nullptr ? std::string() : name_of(host_, input));
    }
    for (const ValueInfo* output : host_.list(node_output_count, node_outputs, node)) {
      message.bytes(2, output == nullptr ? std::string() : name_of(host_, output));
    }
    const char* text = nullptr;
    host_.call(node_name, node, &text);
    message.bytes(3, text);
    message.bytes(4, operator_of(node));
    host_.call(node_domain, node, &text);
    const std::string domain = std::strcmp(text, "ai.onnx") == 0 ? "" : text;
    domains_.insert(domain);
    message.bytes(7, domain);
    for (const OpAttr* attribute : host_.list(node_attribute_count, node_attributes, node)) {
      add_attribute(message, attribute);
    }
    // They say what a Loop's body is given, and what a Loop gives that makes no trip.
    const bool is_loop = domain.empty() && operator_of(node) == "Loop";
    std::size_t bodies = 0;
    host_.call(node_body_count, node, &bodies);
    std::vector<const Graph*> graphs(bodies);
    std::vector<const char*> names(bodies);
    if (bodies > 0) host_.call(ort::node_bodies, node, graphs.data(), bodies, names.data());
    for (std::size_t k = 0; k < bodies; ++k) {
      WireWriter attribute;
      attribute.bytes(1, names[k]);
      attribute.message(6, body(graphs[k], is_loop));
      attribute.integer(20, 5);
      message.message(5, attribute);
    }
    return message;
  }

  std::string operator_of(const Node* node) const {
    const char* text = nullptr;
    host_.call(node_operator, node, &text);
    return text;
  }

  /// The GraphProto of a body.
  WireWriter body(const Graph* graph, bool with_sizes) {
    WireWriter message;
    std::set<std::string> defined;
    for (const ValueInfo* value : host_.list(graph_initializer_count, graph_initializers, graph)) {
      add_constant(message, value, defined);
    }
    for (const Node* node : host_.list(graph_node_count, graph_nodes, graph))
      message.message(1, write_node(node));
    message.bytes(2, "body");
    for (const ValueInfo* value : host_.list(graph_input_count, graph_inputs, graph))
      message.message(11, port(value, with_sizes));
    for (const ValueInfo* value : host_.list(graph_output_count, graph_outputs, graph))
      message.message(12, port(value, with_sizes));
    return message;
  }

  template <class Item>
  std::vector<Item> array(const OpAttr* attribute, int type) {
    const std::string bytes = attribute_text(host_, attribute, type);
    std::vector<Item> items(bytes.size() / sizeof(Item));
    if (!items.empty()) std::memcpy(items.data(), bytes.data(), items.size() * sizeof(Item));
    return items;
  }

  /// Appends an AttributeProto. Bodies are written by the node.
  void add_attribute(WireWriter& node, const OpAttr* attribute) {
    const char* name = nullptr;
    int type = 0;
    host_.call(attribute_name, attribute, &name);
    host_.call(attribute_type, attribute, &type);
    if (type == attribute_graph) return;
    WireWriter message;
    message.bytes(1, name);
    switch (type) {
      case attribute_int:
        for (const std::int64_t item : array<std::int64_t>(attribute, type)) message.integer(3, item);
        message.integer(20, 2);
        break;
      case attribute_ints:
        for (const std::int64_t item : array<std::int64_t>(attribute, type)) message.integer(8, item);
        message.integer(20, 7);
        break;
      case attribute_float:
        for (const float item : array<float>(attribute, type)) message.real(2, item);
        message.integer(20, 1);
        break;
      case attribute_floats:
        for (const float item : array<float>(attribute, type)) message.real(7, item);
        message.integer(20, 6);
        break;
      case attribute_string:
        message.bytes(4, attribute_text(host_, attribute, type));
        message.integer(20, 3);
        break;
      case attribute_strings: {
        // One after another, each with its final zero.
        const std::string all = attribute_text(host_, attribute, type);
        for (std::size_t begin = 0; begin < all.size();) {
          const std::size_t end = std::min(all.find('\0', begin), all.size());
          message.bytes(9, std::string_view(all).substr(begin, end - begin));
          begin = end + 1;
        }
        message.integer(20, 8);
        break;
      }
      case attribute_tensor: {
        Value* value = nullptr;
        host_.call(attribute_tensor_value, attribute, &value);
        const HostObject<Value> owned(host_, release_value, value);
        message.message(5, tensor_message(value, "", true));
        message.integer(20, 4);
        break;
      }
      default:
        throw Error(Fault::unsupported,
                    fmt::format("the attribute '{}' is of a type that ONNX Runtime does not show", name));
    }
    node.message(5, message);
  }

  const Host& host_;
  const Constants constants_;
  std::set<std::string> domains_;
  WrittenModel written_;
};

}  // namespace

WrittenModel write_model(const Host& host, const GraphPart& part, Constants constants) {
  return Writer(host, constants).write(part);
}

std::vector<const ValueInfo*> reads_of(const Host& host, const Node* node) {
  std::vector<const ValueInfo*> all;
  for (const ValueInfo* value : host.list(node_input_count, node_inputs, node)) {
    if (value != nullptr) all.push_back(value);
  }
  for (const ValueInfo* value : host.list(node_implicit_input_count, node_implicit_inputs, node)) {
    if (value != nullptr) all.push_back(value);
  }
  return all;
}

std::string name_of(const Host& host, const ValueInfo* value) {
  const char* name = nullptr;
  host.call(value_name, value, &name);
  return name;
}

bool is_constant(const Host& host, const ValueInfo* value) {
  bool answer = false;
  host.call(is_constant_initializer, value, &answer);
  return answer;
}

int tensor_type(const Host& host, const ValueInfo* value) {
  const TypeInfo* type_info = nullptr;
  host.call(value_type_info, value, &type_info);
  if (type_info == nullptr) return 0;
  int kind = 0;
  host.call(onnx_type_of_info, type_info, &kind);
  if (kind != onnx_tensor) return 0;
  const TensorInfo* tensor = nullptr;
  host.call(as_tensor_info, type_info, &tensor);
  int type = 0;
  host.call(element_type, tensor, &type);
  return onnx_element_type(type);
}

}  // namespace axrun::ort
