#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/tensor.h"
#include "onnx_import/context.h"
#include "onnx_import/messages.h"
#include "onnx_import/origin.h"

namespace axrun::onnx_import {

/// The tensor of a TensorProto. Raw data, and external data in memory, of at least borrow_threshold bytes are
/// borrowed from their source where that has an owner and they are aligned for their element type; everything
/// else is copied. 4-bit integers are unpacked, booleans made 0 or 1.
///
/// Throws Error(model) when dims, element type and data do not fit together; nothing is allocated before that
/// is known. Returns an undefined tensor, and notes why, for what axrun lacks.
ir::Tensor tensor_of(const TensorMessage& message, const Origin& what, ImportContext& context);

/// The dense form of a SparseTensorProto: absent elements are 0, false or "".
ir::Tensor tensor_of(const SparseTensorMessage& message, const Origin& what, ImportContext& context);

inline constexpr size_t borrow_threshold = 1024;

/// Largest rank of tensors.
inline constexpr size_t rank_limit = 64;

/// Number of elements. Throws Error(model) for negative dims and absurd sizes, before anything is allocated.
int64_t checked_count(const std::vector<int64_t>& dims, const Origin& what);

}  // namespace axrun::onnx_import
