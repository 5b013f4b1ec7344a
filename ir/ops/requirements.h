#pragma once

// What definitions check of their inputs and attributes before they build anything.

#include <optional>
#include <string_view>
#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

enum class TypeClass : uint8_t {
  any,
  number,  ///< floats and integers
  floating,
  integer,
  boolean,
  number_or_boolean,  ///< everything but strings
};

bool belongs(ElementType type, TypeClass wanted);

/// Refuses an input of another class.
void require_type(const OperatorContext& context, int input, TypeClass wanted);
/// Refuses two inputs of different types.
void require_same_type(const OperatorContext& context, int a, int b);
void require_rank(const OperatorContext& context, int input, int rank);

/// ONNX's number of an element type (TensorProto.DataType); empty for undefined, unknown and complex types
/// and those that axrun lacks.
std::optional<ElementType> element_type_of_code(int64_t code);
/// The integer attribute `name` holding such a number. Refuses 0 and numbers ONNX does not have; types that
/// axrun lacks are unsupported. `otherwise` where the attribute is absent; without it the attribute is
/// required.
ElementType type_attribute(const OperatorContext& context, std::string_view name,
                           std::optional<ElementType> otherwise = {});

/// The attribute as 0 or 1: any other integer than 0 counts as set.
inline bool flag(const OperatorContext& context, std::string_view name, bool otherwise) {
  return context.integer(name, otherwise ? 1 : 0) != 0;
}

/// The single number that input k holds, as a size; floats are truncated. `what` names it in the error.
Dim single_size(const OperatorContext& context, int input, const std::string& what);

/// Inputs given as a list of axes: from input k when present, else from the attribute (which older versions
/// have). Empty when neither is there.
std::optional<std::vector<int64_t>> listed_axes(const OperatorContext& context, int input,
                                                std::string_view attribute);

/// Declares an operand whose values are not read, where its symbolic dims have to be bound.
void declare_for_dims(Builder& b, const OperatorContext& context, int input);

}  // namespace axrun::ir
