// Cast and its relatives.

#include <fmt/format.h>

#include <array>

#include "ir/ops/elementwise_parts.h"
#include "ir/ops/requirements.h"
#include "ir/ops/string_operators.h"

namespace axrun::ir {
namespace {

bool is_f8(ElementType type) { return is_float(type) && size_of(type) == 1; }

enum class PowerRounding : uint8_t { up, down, nearest };

PowerRounding power_rounding(const OperatorContext& context) {
  const std::string mode = context.string("round_mode", "up");
  if (mode == "down") return PowerRounding::down;
  if (mode == "nearest") return PowerRounding::nearest;
  if (mode != "up") context.fail("attribute 'round_mode' = '" + mode + "' is unknown");
  return PowerRounding::up;
}

/// A power of two. The type's own rounding goes to the nearest one, upwards from 1.5 times a power: three
/// quarters of a number go to the power that is not above it.
Scalar power_of_two(const Scalar& x, PowerRounding rounding, bool saturate) {
  const auto to_power = [saturate](const Scalar& value) {
    return saturate ? cast_saturate(ElementType::f8e8m0, value) : cast(ElementType::f8e8m0, value);
  };
  const Scalar wide = cast(ElementType::f64, x);
  if (rounding == PowerRounding::nearest) return to_power(wide);
  if (rounding == PowerRounding::down) return to_power(wide * 0.75);
  const Scalar below = cast(ElementType::f64, cast_saturate(ElementType::f8e8m0, wide * 0.75));
  return to_power(select(logical_and(below < wide, wide < below * 2.0), below * 2.0, wide));
}

/// ONNX's conversion of one element between numeric types and boolean. `saturate` matters towards floats of
/// 8 bits only. Floats out of the range of an integer type are undefined by ONNX; its tests have narrow
/// integers wrap, as they do on x86.
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
  if (to == ElementType::f8e8m0 && x.type() != to) {
    const PowerRounding rounding = power_rounding(context);
    b.output(b.map(x.dims(), [&](const Indices& i) { return power_of_two(x(i), rounding, saturate); }));
    return;
  }
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

}  // namespace

void conversion_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "BitCast", 26, define_bit_cast},
                             {"", "Cast", 1, define_cast_by_name},
                             {"", "Cast", 6, define_cast},
                             {"", "CastLike", 15, define_cast_like}});
}

}  // namespace axrun::ir
