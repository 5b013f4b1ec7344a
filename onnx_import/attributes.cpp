#include "onnx_import/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/error.h"
#include "onnx_import/names.h"
#include "onnx_import/tensor_data.h"
#include "onnx_import/value_type.h"

namespace axrun::onnx_import {
namespace {

using ir::Attribute;
using ir::ElementType;
using Kind = ir::Attribute::Kind;

/// One AttributeProto.AttributeType: the field that holds it, and what it is read as.
struct AttributeType {
  int32_t type;
  std::string_view name;
  uint32_t field;
  Kind kind;
};

constexpr std::array<AttributeType, 14> attribute_types = {{
    {1, "FLOAT", 2, Kind::real},
    {2, "INT", 3, Kind::integer},
    {3, "STRING", 4, Kind::string},
    {4, "TENSOR", 5, Kind::tensor},
    {5, "GRAPH", 6, Kind::graph},
    {6, "FLOATS", 7, Kind::reals},
    {7, "INTS", 8, Kind::integers},
    {8, "STRINGS", 9, Kind::strings},
    {9, "TENSORS", 10, Kind::tensors},
    {10, "GRAPHS", 11, Kind::graphs},
    {11, "SPARSE_TENSOR", 22, Kind::tensor},
    {12, "SPARSE_TENSORS", 23, Kind::tensors},
    {13, "TYPE_PROTO", 14, Kind::string},
    {14, "TYPE_PROTOS", 15, Kind::strings},
}};

bool is_present(const AttributeMessage& message, uint32_t field) {
  return (message.present >> field & 1) != 0;
}

const AttributeType& declared_type(int32_t type, const Origin& what) {
  if (type < 1 || type > static_cast<int32_t>(attribute_types.size())) {
    throw Error(Fault::model, fmt::format("{} has the unknown type {}", what.text(), type));
  }
  return attribute_types[static_cast<size_t>(type) - 1];
}

/// The declared type; in files of IR version 1, which declare none, that of the only field present.
const AttributeType& type_of(const AttributeMessage& message, const Origin& what) {
  const auto present = [&](const AttributeType& row) { return is_present(message, row.field); };
  if (message.type == 0) {
    if (std::count_if(attribute_types.begin(), attribute_types.end(), present) != 1) {
      throw Error(Fault::model, what.text() + " has no type");
    }
    return *std::find_if(attribute_types.begin(), attribute_types.end(), present);
  }
  const AttributeType& type = declared_type(message.type, what);
  if (is_present(message, type.field)) return type;
  // Writers leave out numbers that are 0 and lists that are empty; but then no other field may stand there.
  const auto other = std::find_if(attribute_types.begin(), attribute_types.end(), present);
  if (other != attribute_types.end()) {
    throw Error(Fault::model,
                fmt::format("{} is said to be {} and holds {}", what.text(), type.name, other->name));
  }
  if (type.kind == Kind::tensor || type.kind == Kind::graph || type.field == 14) {
    throw Error(Fault::model, fmt::format("{} is said to be {} and is empty", what.text(), type.name));
  }
  return type;
}

}  // namespace

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::integer:
      return "an integer";
    case Kind::real:
      return "a float";
    case Kind::string:
      return "a string";
    case Kind::integers:
      return "a list of integers";
    case Kind::reals:
      return "a list of floats";
    case Kind::strings:
      return "a list of strings";
    case Kind::tensor:
      return "a tensor";
    case Kind::tensors:
      return "a list of tensors";
    case Kind::graph:
      return "a graph";
    case Kind::graphs:
      break;
  }
  return "a list of graphs";
}

Kind kind_of_attribute_type(int32_t type, const Origin& what) { return declared_type(type, what).kind; }

Attribute attribute_of(const AttributeMessage& message, const Origin& what, ImportContext& context,
                       const std::function<std::shared_ptr<ir::Graph>(std::string_view)>& read_body) {
  const auto dense = [&](std::string_view bytes) {
    return tensor_of(read_message<TensorMessage>(bytes, context.unknown_fields), what, context);
  };
  const auto sparse = [&](std::string_view bytes) {
    return tensor_of(read_message<SparseTensorMessage>(bytes, context.unknown_fields), what, context);
  };
  const auto type_name = [&](std::string_view bytes) {
    return type_text(read_type(bytes, context.unknown_fields));
  };
  const AttributeType& type = type_of(message, what);
  Attribute attribute;
  attribute.kind = type.kind;
  switch (type.field) {
    case 2:
      attribute.real = message.f;
      break;
    case 3:
      attribute.integer = message.i;
      break;
    case 4:
      attribute.string = message.s;
      break;
    case 5:
      attribute.tensor = dense(*message.t);
      break;
    case 6:
      attribute.graph = read_body(*message.g);
      break;
    case 7:
      attribute.reals.assign(message.floats.begin(), message.floats.end());
      break;
    case 8:
      attribute.integers = message.ints;
      break;
    case 9:
      attribute.strings.assign(message.strings.begin(), message.strings.end());
      break;
    case 10:
      for (const auto bytes : message.tensors) attribute.tensors.push_back(dense(bytes));
      break;
    case 11:
      for (const auto bytes : message.graphs) attribute.graphs.push_back(read_body(bytes));
      break;
    case 14:
      attribute.string = type_name(*message.tp);
      break;
    case 15:
      for (const auto bytes : message.type_protos) attribute.strings.push_back(type_name(bytes));
      break;
    case 22:
      attribute.tensor = sparse(*message.sparse_tensor);
      break;
    default:
      for (const auto bytes : message.sparse_tensors) attribute.tensors.push_back(sparse(bytes));
  }
  return attribute;
}

ir::Tensor constant_of(const ir::Node& node, const Origin& what) {
  const auto fail = [&](const std::string& why) { throw Error(Fault::model, what.text() + " " + why); };
  if (node.attributes.size() != 1)
    fail(fmt::format("has {} attributes where one is its value", node.attributes.size()));
  const auto& [name, attribute] = *node.attributes.begin();
  const auto holds = [&, &name = name, &attribute = attribute](std::string_view wanted, Kind kind) {
    if (name != wanted) return false;
    if (attribute.kind != kind) {
      fail(
          fmt::format("has as {} {} where {} is wanted", wanted, kind_name(attribute.kind), kind_name(kind)));
    }
    return true;
  };
  if (holds("value", Kind::tensor) || holds("sparse_value", Kind::tensor)) return attribute.tensor;
  if (holds("value_int", Kind::integer)) return ir::Tensor::from_i64({attribute.integer}).reshaped({});
  if (holds("value_ints", Kind::integers)) return ir::Tensor::from_i64(attribute.integers);
  if (holds("value_float", Kind::real)) return ir::Tensor::scalar(ElementType::f32, attribute.real);
  if (holds("value_string", Kind::string)) return ir::Tensor::from_strings({}, {attribute.string});
  if (holds("value_strings", Kind::strings)) {
    return ir::Tensor::from_strings({static_cast<int64_t>(attribute.strings.size())}, attribute.strings);
  }
  if (holds("value_floats", Kind::reals)) {
    auto tensor =
        ir::Tensor::allocate_uninitialized(ElementType::f32, {static_cast<int64_t>(attribute.reals.size())});
    std::transform(attribute.reals.begin(), attribute.reals.end(), tensor.as<float>(),
                   [](double value) { return static_cast<float>(value); });
    return tensor;
  }
  fail(fmt::format("has the unknown attribute {}", in_quotes(name)));
  return {};
}

}  // namespace axrun::onnx_import
