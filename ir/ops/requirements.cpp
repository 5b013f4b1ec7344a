#include "ir/ops/requirements.h"

#include <fmt/format.h>

#include <array>

namespace axrun::ir {
namespace {

std::string_view describe(TypeClass wanted) {
  switch (wanted) {
    case TypeClass::any:
      return "of any type";
    case TypeClass::number:
      return "of a numeric type";
    case TypeClass::floating:
      return "of a float type";
    case TypeClass::integer:
      return "of an integer type";
    case TypeClass::boolean:
      return "boolean";
    case TypeClass::number_or_boolean:
      return "numeric or boolean";
  }
  return "";
}

/// In the order of ONNX's numbers; undefined where axrun has no such type.
constexpr std::array<ElementType, 29> types_by_code = {
    ElementType::undefined,  ElementType::f32,      ElementType::u8,         ElementType::i8,
    ElementType::u16,        ElementType::i16,      ElementType::i32,        ElementType::i64,
    ElementType::string,     ElementType::boolean,  ElementType::f16,        ElementType::f64,
    ElementType::u32,        ElementType::u64,      ElementType::undefined,  ElementType::undefined,
    ElementType::bf16,       ElementType::f8e4m3fn, ElementType::f8e4m3fnuz, ElementType::f8e5m2,
    ElementType::f8e5m2fnuz, ElementType::u4,       ElementType::i4,         ElementType::f4e2m1,
    ElementType::f8e8m0,     ElementType::u2,       ElementType::i2,         ElementType::f6e2m3,
    ElementType::f6e3m2};

}  // namespace

bool belongs(ElementType type, TypeClass wanted) {
  switch (wanted) {
    case TypeClass::any:
      return true;
    case TypeClass::number:
      return is_float(type) || is_integer(type);
    case TypeClass::floating:
      return is_float(type);
    case TypeClass::integer:
      return is_integer(type);
    case TypeClass::boolean:
      return type == ElementType::boolean;
    case TypeClass::number_or_boolean:
      return type != ElementType::string;
  }
  return false;
}

void require_type(const OperatorContext& context, int input, TypeClass wanted) {
  const ElementType type = context.type(input);
  if (belongs(type, wanted)) return;
  context.fail(fmt::format("input {} is {} but must be {}", input, name_of(type), describe(wanted)));
}

void require_same_type(const OperatorContext& context, int a, int b) {
  if (context.type(a) == context.type(b)) return;
  context.fail(fmt::format("inputs {} and {} must have one type, not {} and {}", a, b,
                           name_of(context.type(a)), name_of(context.type(b))));
}

void require_rank(const OperatorContext& context, int input, int rank) {
  if (context.rank(input) == rank) return;
  context.fail(
      fmt::format("input {} must have rank {}, not shape {}", input, rank, to_string(context.dims(input))));
}

std::optional<ElementType> element_type_of_code(int64_t code) {
  if (code < 0 || code >= static_cast<int64_t>(types_by_code.size())) return std::nullopt;
  const ElementType type = types_by_code[static_cast<size_t>(code)];
  if (type == ElementType::undefined) return std::nullopt;
  return type;
}

ElementType type_attribute(const OperatorContext& context, std::string_view name,
                           std::optional<ElementType> otherwise) {
  if (!context.has_attribute(name)) {
    if (otherwise) return *otherwise;
    context.fail(fmt::format("attribute '{}' is missing", name));
  }
  const int64_t code = context.integer(name, 0);
  if (const auto type = element_type_of_code(code)) return *type;
  if (code <= 0) context.fail(fmt::format("attribute '{}' = {} is no element type", name, code));
  context.unsupported(fmt::format("element type number {} in attribute '{}'", code, name));
}

Dim single_size(const OperatorContext& context, int input, const std::string& what) {
  const std::string refusal = what + " must be a single number";
  if (is_float(context.type(input))) {
    const Tensor& value = context.constant(input);
    context.check(value.size() == 1, refusal);
    return value.get_int(0);
  }
  const Dims elements = context.elements(input);
  context.check(elements.size() == 1, refusal);
  return elements[0];
}

std::optional<std::vector<int64_t>> listed_axes(const OperatorContext& context, int input,
                                                std::string_view attribute) {
  if (context.has(input)) return context.integers(input);
  if (context.has_attribute(attribute)) return context.integers(attribute);
  return std::nullopt;
}

void declare_for_dims(Builder& b, const OperatorContext& context, int input) {
  if (!constant_dims(context.dims(input))) operand(b, context, input);
}

}  // namespace axrun::ir
