#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "ir/graph.h"
#include "onnx_import/context.h"
#include "onnx_import/messages.h"
#include "onnx_import/origin.h"

namespace axrun::onnx_import {

/// The value of an attribute that is not a reference; `read_body` makes the graph
/// of a GraphProto. Throws Error(model) when the field that its type asks for is missing. What axrun lacks is
/// noted, and the attribute comes back with an undefined tensor.
ir::Attribute attribute_of(const AttributeMessage& message, const Origin& what, ImportContext& context,
                           const std::function<std::shared_ptr<ir::Graph>(std::string_view)>& read_body);

/// "a float", "a list of tensors", ...
std::string_view kind_name(ir::Attribute::Kind kind);
/// The kind that an AttributeProto.AttributeType is read as; Error(model) for an unknown one.
ir::Attribute::Kind kind_of_attribute_type(int32_t type, const Origin& what);

/// The value of a Constant node, from its only attribute. Undefined when that was unsupported.
ir::Tensor constant_of(const ir::Node& node, const Origin& what);

}  // namespace axrun::onnx_import
