#pragma once

#include <cstdint>

#include "ir/tensor.h"
#include "onnx_import/element_codes.h"
#include "onnx_import/messages.h"
#include "onnx_import/origin.h"

namespace axrun::onnx_import {

/// The tensor whose elements a TensorProto holds in the field of their type (float_data, int32_data, ...),
/// with `count` elements. The element type must be one that axrun has. Throws Error(model) when the field is
/// another one or has another number of elements, or a number does not fit.
ir::Tensor typed_data(const TensorMessage& message, const ElementCode& code, int64_t count,
                      const Origin& what);

}  // namespace axrun::onnx_import
