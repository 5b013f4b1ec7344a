#pragma once

#include <initializer_list>

#include "ir/operator.h"

namespace axrun::ir {

/// The type in which float operators compute and keep what passes between their stages: f16, bf16 and the
/// float8 types widen to f32, every other type is itself.
ElementType compute_type(ElementType type);
/// x converted to its compute type.
Scalar widen(const Scalar& x);
/// The value of `x` (of any float type) rounded to the grid of `type`, and of that type: the one way to ask
/// for a rounding inside real arithmetic.
Scalar rounded(ElementType type, const Scalar& x);

/// f16, bf16, f32 and f64: what ONNX calls the float tensors of most operators.
bool is_real_type(ElementType type);
/// Operand k, refused unless its type is one of f16, bf16, f32 and f64.
TensorRef real_operand(Builder& b, const OperatorContext& context, int k);
/// Operand k, refused unless its type is one of `allowed`.
TensorRef typed_operand(Builder& b, const OperatorContext& context, int k,
                        std::initializer_list<ElementType> allowed);
/// Operand k as operand() declares it, refused unless its dims are `dims`. `what` names them in the error.
TensorRef shaped_operand(Builder& b, const OperatorContext& context, int k, const Dims& dims,
                         const std::string& what);
void check_dims(const OperatorContext& context, const TensorRef& x, const Dims& dims,
                const std::string& what);
/// Refuses an attribute below `low` or above `high`; answers it.
int64_t bounded_integer(const OperatorContext& context, std::string_view name, int64_t otherwise, int64_t low,
                        int64_t high);

/// How many outputs the program needs: up to the last one that the node names.
int wanted_outputs(const OperatorContext& context);

/// The number of points of `dims` as a value of a float type.
Scalar count_of(Builder& b, ElementType type, const Dims& dims);
/// The single element of a tensor of one element, of any rank; refuses other shapes.
Scalar only_element(const OperatorContext& context, Builder& b, const TensorRef& x, const std::string& what);

Dims joined(const Dims& a, const Dims& b);
Indices joined(const Indices& a, const Indices& b);
/// The part [first, last) of a list.
Dims part(const Dims& dims, size_t first, size_t last);
Indices part(const Indices& indices, size_t first, size_t last);

}  // namespace axrun::ir
