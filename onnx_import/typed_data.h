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

/// A 4-bit element as tensors store it: one byte, of i4 with its sign extended.
inline uint8_t unpack_nibble(ir::ElementType type, int nibble) {
  return static_cast<uint8_t>(type == ir::ElementType::i4 && nibble >= 8 ? nibble - 16 : nibble);
}

}  // namespace axrun::onnx_import
