#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/tensor.h"

namespace axrun::onnx_import {

/// Elements narrower than a byte are one stream of bits in files, the first in the lowest bits; tensors hold
/// one per byte, of signed types with the sign extended.
inline bool is_packed(ir::ElementType type) { return ir::size_of(type) == 1 && ir::bits_of(type) < 8; }

/// Bytes of `count` elements of any type but string, as files hold them.
int64_t packed_bytes(ir::ElementType type, int64_t count);

/// Element number `position` of a packed type.
uint8_t unpacked(ir::ElementType type, std::string_view bytes, int64_t position);

/// The elements of a tensor of a packed type; the bits after the last one are 0.
std::string packed(const ir::Tensor& tensor);

}  // namespace axrun::onnx_import
