#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/api.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace axrun::runtime {

/// What flows along an edge while a model runs: a tensor, or one of ONNX's containers.
struct AXRUN_API RuntimeValue {
  ir::ValueKind kind = ir::ValueKind::tensor;
  ir::Tensor tensor;
  /// Type the model gives the tensor. Its storage has the same type, or a wider one (f64 for f32).
  ir::ElementType type = ir::ElementType::undefined;
  /// sequence: the elements; optional: none or one; map: {keys, values} as two tensors.
  std::shared_ptr<const std::vector<RuntimeValue>> items;

  RuntimeValue() = default;
  RuntimeValue(ir::Tensor value)  // NOLINT: a tensor is a value
      : tensor(std::move(value)), type(tensor.type()) {}
  RuntimeValue(ir::Tensor value, ir::ElementType declared) : tensor(std::move(value)), type(declared) {}
  static RuntimeValue sequence(std::vector<RuntimeValue> items);
  static RuntimeValue optional(std::vector<RuntimeValue> items);
  static RuntimeValue map(ir::Tensor keys, ir::Tensor values);

  bool present() const { return kind != ir::ValueKind::tensor || tensor.defined(); }
};

/// The value with every tensor stored in its declared type.
AXRUN_API RuntimeValue narrowed(const RuntimeValue& value);

/// Element `index` of `x` along `axis`, that dimension dropped (keep: of size 1).
AXRUN_API ir::Tensor take(const ir::Tensor& x, int axis, int64_t index, bool keep);
/// Part begin..end of `x` along `axis`.
AXRUN_API ir::Tensor slice(const ir::Tensor& x, int axis, int64_t begin, int64_t end);
/// Concatenation along an existing axis; shapes and types must agree otherwise, or Error(user).
AXRUN_API ir::Tensor concatenate(const std::vector<ir::Tensor>& parts, int axis);
/// Tensors of one shape stacked along a new axis.
AXRUN_API ir::Tensor stack(const std::vector<ir::Tensor>& parts, int axis);

}  // namespace axrun::runtime
