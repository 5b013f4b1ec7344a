#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace axrun::ir {

// Strings have no arithmetic in tensor expressions: these are opaque stages that definitions of several
// families use. (Moving strings about - Gather, Concat, Reshape and so on - needs none: loads of strings are
// expressions.)

/// Numbers written as text, or text read as numbers of type `to`, as ONNX's Cast does. One of x's type and
/// `to` is string, the other one a number or boolean. Text that is no number is refused when it is met.
TensorRef cast_strings(Builder& b, const TensorRef& x, ElementType to);
/// Whether the strings of two tensors of one shape are equal: boolean.
TensorRef strings_equal(Builder& b, const TensorRef& x, const TensorRef& y);
/// Position of each string in `keys` as i64; the last one of equal keys; -1 when it is not there.
TensorRef find_strings(Builder& b, const TensorRef& x, const std::vector<std::string>& keys);
/// The string at each position (i64); `otherwise` for positions outside 0..size-1.
TensorRef choose_strings(Builder& b, const TensorRef& positions, const std::vector<std::string>& values,
                         const std::string& otherwise);

/// Loads what stands where nothing is: 0, false, or the empty string.
std::function<Scalar()> nothing_of(Builder& b, ElementType type);

}  // namespace axrun::ir
