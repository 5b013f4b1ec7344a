#pragma once

#include <string_view>

#include "ir/tensor.h"
#include "onnx_import/wire_writer.h"

namespace axrun::onnx_import {

/// A TensorProto. The name is left out where it is empty.
WireWriter tensor_message(std::string_view name, const ir::Tensor& tensor);

}  // namespace axrun::onnx_import
