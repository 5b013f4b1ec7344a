#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "onnx_import/context.h"
#include "onnx_import/messages.h"
#include "onnx_import/names.h"
#include "onnx_import/origin.h"

namespace axrun::onnx_import {

/// ONNX's notation: "tensor(float)", "seq(map(int64,tensor(float)))", "optional(seq(tensor(float)))". Shapes
/// are left out.
std::string type_text(const TypeMessage& type);

/// Reads the declared types of graph inputs and outputs.
class DeclaredTypes {
 public:
  explicit DeclaredTypes(ImportContext& context) : context_(context) {}

  /// All inputs of the main graph, in one call: the sizes they name and the sizes they leave open must not
  /// meet.
  void set_types(ir::Graph& graph, const std::vector<std::pair<ir::ValueId, ValueInfoMessage>>& inputs);
  /// An input of a body, or an output: its kind and element type, and dims where they are more than hints, if
  /// they are declared.
  void set_body_type(ir::Value& value, const ValueInfoMessage& message, bool with_dims);
  /// An output: whether it is a sequence, optional or map, and of what. The types of tensors follow from the
  /// graph, and what is stored of them may be stale.
  void set_output_kind(ir::Value& value, const ValueInfoMessage& message);
  /// Everything that an output of the main graph is declared as; what is incomplete or unknown is left open.
  ir::Value declared_output(const ValueInfoMessage& message);

 private:
  void set_kind(ir::Value& value, const TypeMessage& type, const Origin& what);
  ir::Dim dim_of(const ir::Value& value, const TypeMessage& type, size_t axis);
  ir::Dims dims_of(const ir::Value& value, const TypeMessage& type, const Origin& what);

  ImportContext& context_;
  UniqueNames size_names_;
};

}  // namespace axrun::onnx_import
