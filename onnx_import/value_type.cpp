#include "onnx_import/value_type.h"

#include <fmt/format.h>

#include <optional>

#include "ir/error.h"
#include "onnx_import/element_codes.h"
#include "onnx_import/tensor_data.h"

namespace axrun::onnx_import {
namespace {

std::string_view element_name(int32_t code) {
  const ElementCode* element = find_element_code(code);
  return element != nullptr ? element->name : "?";
}

/// "?" is what exporters write for a size that they do not know.
bool is_named(const DimensionMessage& dimension) {
  return !dimension.name.empty() && dimension.name != "?" && !(dimension.value && *dimension.value > 0);
}

/// nullopt for what axrun has no values of.
std::optional<ir::ValueKind> kind_of(TypeMessage::Kind kind) {
  switch (kind) {
    case TypeMessage::Kind::tensor:
      return ir::ValueKind::tensor;
    case TypeMessage::Kind::sequence:
      return ir::ValueKind::sequence;
    case TypeMessage::Kind::optional:
      return ir::ValueKind::optional;
    case TypeMessage::Kind::map:
      return ir::ValueKind::map;
    default:
      return std::nullopt;
  }
}

/// The element of a sequence or optional, the value of a map, and so on.
const TypeMessage& innermost(const TypeMessage& type) {
  const TypeMessage* inner = &type;
  while (inner->inner) inner = inner->inner.get();
  return *inner;
}

}  // namespace

std::string type_text(const TypeMessage& type) {
  const std::string inner = type.inner ? type_text(*type.inner) : "?";
  switch (type.kind) {
    case TypeMessage::Kind::tensor:
      return fmt::format("tensor({})", element_name(type.element));
    case TypeMessage::Kind::sparse_tensor:
      return fmt::format("sparse_tensor({})", element_name(type.element));
    case TypeMessage::Kind::sequence:
      return fmt::format("seq({})", inner);
    case TypeMessage::Kind::optional:
      return fmt::format("optional({})", inner);
    case TypeMessage::Kind::map:
      return fmt::format("map({},{})", element_name(type.element), inner);
    case TypeMessage::Kind::opaque:
      return "opaque()";
    case TypeMessage::Kind::none:
      break;
  }
  return "?";
}

void DeclaredTypes::set_kind(ir::Value& value, const TypeMessage& type, const Origin& what) {
  if (type.kind == TypeMessage::Kind::none) throw Error(Fault::model, what.text() + " has no type");
  const auto kind = kind_of(type.kind);
  if (!kind) {
    context_.unsupported.push_back(fmt::format("{}: type {}", what.text(), type_text(type)));
    return;
  }
  value.kind = *kind;
  const TypeMessage& element = innermost(type);
  if (element.kind != TypeMessage::Kind::tensor) {
    throw Error(Fault::model, fmt::format("{} has the incomplete type {}", what.text(), type_text(type)));
  }
  const ElementCode* code = find_element_code(element.element);
  if (code == nullptr) {
    throw Error(Fault::model,
                fmt::format("{} has the unknown element type {}", what.text(), element.element));
  }
  if (code->type == ir::ElementType::undefined) {
    context_.unsupported.push_back(fmt::format("{}: element type {}", what.text(), code->name));
  }
  value.type = code->type;
}

ir::Dim DeclaredTypes::dim_of(const ir::Value& value, const TypeMessage& type, size_t axis) {
  const DimensionMessage& dimension = type.dims[axis];
  if (is_named(dimension)) return ir::Dim::symbol(printable(dimension.name));
  const bool is_size =
      dimension.value && (*dimension.value > 0 || (*dimension.value == 0 && dimension.name.empty()));
  if (is_size) return ir::Dim(*dimension.value);
  return ir::Dim::symbol(size_names_.take(fmt::format("{}_dim_{}", value.name, axis)));
}

ir::Dims DeclaredTypes::dims_of(const ir::Value& value, const TypeMessage& type, const Origin& what) {
  ir::Dims dims;
  ir::Shape known;
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    dims.push_back(dim_of(value, type, axis));
    if (dims.back().is_constant()) known.push_back(dims.back().value());
  }
  checked_count(known, what);
  return dims;
}

void DeclaredTypes::set_types(ir::Graph& graph,
                              const std::vector<std::pair<ir::ValueId, ValueInfoMessage>>& inputs) {
  std::vector<TypeMessage> types;
  for (const auto& [id, message] : inputs) {
    types.push_back(message.type ? read_type(*message.type, context_.unknown_fields) : TypeMessage());
    for (const DimensionMessage& dimension : types.back().dims) {
      if (is_named(dimension)) size_names_.exclude(printable(dimension.name));
    }
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    ir::Value& value = graph.value(inputs[k].first);
    const Origin what{"graph input", inputs[k].second.name};
    set_kind(value, types[k], what);
    if (types[k].kind != TypeMessage::Kind::tensor || !types[k].has_shape) continue;
    if (types[k].dims.size() > rank_limit) {
      context_.unsupported.push_back(fmt::format("{}: rank {}", what.text(), types[k].dims.size()));
    } else {
      value.dims = dims_of(value, types[k], what);
    }
  }
}

void DeclaredTypes::set_body_type(ir::Value& value, const ValueInfoMessage& message, bool with_dims) {
  if (!message.type) return;
  const TypeMessage type = read_type(*message.type, context_.unknown_fields);
  // Bodies are often written without types: an incomplete one says as little as a missing one.
  if (innermost(type).kind != TypeMessage::Kind::tensor || innermost(type).element == 0) return;
  const Origin what{"body value", message.name};
  set_kind(value, type, what);
  if (!with_dims || type.kind != TypeMessage::Kind::tensor || !type.has_shape ||
      type.dims.size() > rank_limit)
    return;
  value.dims = dims_of(value, type, what);
}

void DeclaredTypes::set_output_kind(ir::Value& value, const ValueInfoMessage& message) {
  if (!message.type) return;
  const TypeMessage type = read_type(*message.type, context_.unknown_fields);
  const auto kind = kind_of(type.kind);
  if (!kind || *kind == ir::ValueKind::tensor) return;
  value.kind = *kind;
  const ElementCode* code = find_element_code(innermost(type).element);
  if (innermost(type).kind == TypeMessage::Kind::tensor && code != nullptr) value.type = code->type;
}

ir::Value DeclaredTypes::declared_output(const ValueInfoMessage& message) {
  ir::Value value;
  value.name = printable(message.name);
  if (!message.type) return value;
  const TypeMessage type = read_type(*message.type, context_.unknown_fields);
  const auto kind = kind_of(type.kind);
  if (!kind) return value;
  value.kind = *kind;
  const TypeMessage& element = innermost(type);
  const ElementCode* code = find_element_code(element.element);
  if (element.kind == TypeMessage::Kind::tensor && code != nullptr) value.type = code->type;
  if (type.kind != TypeMessage::Kind::tensor || !type.has_shape || type.dims.size() > rank_limit)
    return value;
  value.dims.emplace();
  for (size_t axis = 0; axis < type.dims.size(); ++axis) value.dims->push_back(dim_of(value, type, axis));
  return value;
}

}  // namespace axrun::onnx_import
