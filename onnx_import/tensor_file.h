#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/tensor.h"

namespace axrun::onnx_import {

struct NamedTensor {
  std::string name;  ///< empty where the file has none
  ir::Tensor tensor;
};

/// A value as ONNX's data files hold it: a tensor, or a tree of them.
struct DataValue {
  ir::ValueKind kind = ir::ValueKind::tensor;
  std::string name;
  ir::Tensor tensor;                ///< kind tensor
  ir::Tensor keys;                  ///< kind map: one-dimensional, integers or strings
  std::vector<DataValue> elements;  ///< kind sequence: its elements; optional: none or one; map: one per key
};

/// Reads a TensorProto (an input_K.pb or output_K.pb of ONNX's test data). External data is looked up beside
/// the file. Throws Error(user), naming the file, when it cannot be read or is damaged.
NamedTensor read_tensor_file(const std::string& path);
/// The same from memory; `what` names the source in errors. External data is refused.
NamedTensor read_tensor_memory(const void* data, size_t size, const std::string& what);

/// Reads a TensorProto, SequenceProto, OptionalProto or MapProto: the file does not say which it is, the
/// caller does.
DataValue read_value_file(const std::string& path, ir::ValueKind kind);
DataValue read_value_memory(const void* data, size_t size, ir::ValueKind kind, const std::string& what);

/// The bytes of a TensorProto (i4 and u4 packed).
std::string tensor_to_bytes(const std::string& name, const ir::Tensor& tensor);
std::string value_to_bytes(const DataValue& value);
/// Written aside and renamed. Throws Error(user).
void write_tensor_file(const std::string& path, const std::string& name, const ir::Tensor& tensor);
void write_value_file(const std::string& path, const DataValue& value);

}  // namespace axrun::onnx_import
