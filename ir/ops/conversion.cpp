// Cast and its relatives, and Dropout as inference runs it.

#include <fmt/format.h>

#include <array>

#include "ir/ops/elementwise_parts.h"
#include "ir/ops/requirements.h"
#include "ir/ops/string_operators.h"

namespace axrun::ir {
namespace {

bool is_f8(ElementType type) { return is_float(type) && size_of(type) == 1; }

/// ONNX's conversion of one element between numeric types and boolean. `saturate` matters towards float8
/// only. Floats out of the range of an integer type are undefined by ONNX; its tests have narrow integers
/// wrap, as they do on x86.
Scalar convert(const Scalar& x, ElementType to, bool saturate) {
  if (to == ElementType::boolean) return x.type() == to ? x : x != 0;
  if (is_float(x.type()) && is_integer(to) && bits_of(to) < 32) return cast(to, cast(ElementType::i32, x));
  return is_f8(to) && saturate ? cast_saturate(to, x) : cast(to, x);
}

void build_cast(const OperatorContext& context, Builder& b, ElementType to) {
  const TensorRef x = operand(b, context, 0);
  if (x.type() != to && (x.type() == ElementType::string || to == ElementType::string)) {
    b.output(cast_strings(b, x, to));
    return;
  }
  const bool saturate = flag(context, "saturate", true);
  b.output(b.map(x.dims(), [&](const Indices& i) { return convert(x(i), to, saturate); }));
}

/// Until opset 5 the target type is spelled out.
void define_cast_by_name(const OperatorContext& context, Builder& b) {
  const std::string name = context.string("to", "");
  constexpr std::array<std::string_view, 17> names = {
      "UNDEFINED", "FLOAT",   "UINT8",  "INT8",   "UINT16", "INT16",     "INT32",      "INT64",   "STRING",
      "BOOL",      "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  for (size_t code = 1; code < names.size(); ++code) {
    if (names[code] != name) continue;
    const auto to = element_type_of_code(static_cast<int64_t>(code));
    if (!to) context.unsupported(fmt::format("element type {}", name));
    return build_cast(context, b, *to);
  }
  context.fail(fmt::format("attribute 'to' = '{}' is no element type", name));
}

void define_cast(const OperatorContext& context, Builder& b) {
  build_cast(context, b, type_attribute(context, "to"));
}

void define_cast_like(const OperatorContext& context, Builder& b) { build_cast(context, b, context.type(1)); }

/// Integers of one width are each other modulo 2^width, and a boolean is 0 or 1. Only where a float takes
/// part are bits more than a value.
void define_bit_cast(const OperatorContext& context, Builder& b) {
  const ElementType to = type_attribute(context, "to");
  const ElementType from = context.type(0);
  context.check(from != ElementType::string && to != ElementType::string && bits_of(from) == bits_of(to),
                fmt::format("{} and {} differ in width", name_of(from), name_of(to)));
  if (from == to || (!is_float(from) && !is_float(to))) {
    return map_elements(context, b, [&](const Scalar& x) { return convert(x, to, false); });
  }
  if (from == ElementType::boolean || to == ElementType::boolean) {
    context.unsupported(fmt::format("the bits of {} as {}", name_of(from), name_of(to)));
  }
  const TensorRef x = operand(b, context, 0);
  b.output(b.opaque("bit_cast", {x}, {{to, x.dims()}}, std::make_shared<const ElementType>(to))[0]);
}

/// The identity, with a mask that keeps everything: boolean since opset 10, of the input's type before.
/// Training mode, which drops at random, is refused unless its ratio is 0.
void define_dropout(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  if (context.version() >= 12 && context.has(2)) {
    const Tensor& training = context.constant(2);
    context.check(training.size() == 1, "training_mode must have one element");
    if (training.get_int(0) != 0) {
      double ratio = 0.5;
      if (context.has(1)) {
        const Tensor& given = context.constant(1);
        context.check(given.size() == 1, "the ratio must have one element");
        ratio = given.get_real(0);
      }
      if (ratio != 0) context.unsupported("training mode");
    }
  }
  const TensorRef x = operand(b, context, 0);
  b.output(b.map(x.dims(), [&](const Indices& i) { return x(i); }));
  if (!context.wants(1)) return;
  const ElementType mask = context.version() >= 10 ? ElementType::boolean : x.type();
  b.output(b.map(x.dims(), [&](const Indices&) { return b.literal(mask, 1); }));
}

}  // namespace

void conversion_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "BitCast", 26, define_bit_cast},
                             {"", "Cast", 1, define_cast_by_name},
                             {"", "Cast", 6, define_cast},
                             {"", "CastLike", 15, define_cast_like},
                             {"", "Dropout", 1, define_dropout}});
}

}  // namespace axrun::ir
