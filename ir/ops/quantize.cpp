#include "ir/ops/quantize.h"

#include <fmt/format.h>

#include "ir/ops/compute.h"

namespace axrun::ir {

Scalar quantized(ElementType type, const Scalar& value, const Scalar& zero_point, bool saturate) {
  const Scalar offset = cast(value.type(), zero_point);
  if (is_integer(type)) return cast_saturate(type, round_even(value) + offset);
  return saturate ? cast_saturate(type, value + offset) : cast(type, value + offset);
}

Scalar requantized(ElementType type, const Scalar& sum, const Scalar& left_scale, const Scalar& right_scale,
                   const Scalar& result_scale, const Scalar& zero_point) {
  const auto wide = [](const Scalar& x) { return cast(ElementType::f64, x); };
  const auto single = [](const Scalar& x) { return rounded(ElementType::f32, x); };
  const Scalar scales = single(wide(left_scale) * wide(right_scale));
  const Scalar multiplier = single(wide(scales) / wide(result_scale));
  return quantized(type, single(wide(single(sum)) * wide(multiplier)), zero_point);
}

void check_quantized(const OperatorContext& context, int k, bool float8) {
  const ElementType type = context.type(k);
  const bool byte = type == ElementType::i8 || type == ElementType::u8;
  const bool narrow = is_float(type) && size_of(type) == 1;
  if (!byte && !(float8 && narrow)) {
    context.fail(fmt::format("input {} may not be of type {}", k, name_of(type)));
  }
}

Scalar centered(const Scalar& value, const Scalar& zero_point) {
  const ElementType type = is_float(value.type()) ? ElementType::f32 : ElementType::i32;
  return cast(type, value) - cast(type, zero_point);
}

}  // namespace axrun::ir
