// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.
#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/quantize.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Where the scale (or zero point) of an element lies: one for the whole tensor, one per index of an axis, or
/// one per block of consecutive indices of an axis.
struct Granularity {
  enum class Kind : uint8_t { tensor, axis, block } kind = Kind::tensor;
  size_t axis = 0;
  int64_t block = 1;

  Indices at(Builder& b, size_t parameter_rank, const Indices& i) const {
    if (kind == Kind::tensor) return Indices(parameter_rank, b.integer(0));
    if (kind == Kind::axis) return {i[axis]};
    Indices index = i;
    index[axis] = floor_div(i[axis], block);
    return index;
  }
};

Granularity granularity(const OperatorContext& context, const Dims& x, const Dims& scale) {
  Granularity g;
  const int64_t block = bounded_integer(context, "block_size", 0, 0, std::numeric_limits<int32_t>::max());
  if (scale.empty()) return g;
  if (scale.size() == 1 && block == 0) {
    const int64_t axis = context.integer("axis", 1), rank = static_cast<int64_t>(x.size());
    if (context.is(scale[0], 1)) return g;
    // Without such an axis the scale is one for the whole tensor, which a named size may turn out to be.
    if ((axis < -rank || axis >= rank) && context.is_one(scale[0])) return g;
    g.kind = Granularity::Kind::axis;
    g.axis = static_cast<size_t>(context.axis(axis, static_cast<int>(rank)));
    if (context.equal(scale[0], x[g.axis])) return g;
    context.fail(fmt::format("a scale of shape {} does not fit dimension {} of {}", to_string(scale), g.axis,
                             to_string(x)));
  }
  context.check(block > 0 && scale.size() == x.size(),
                fmt::format("a scale of shape {} does not fit {}", to_string(scale), to_string(x)));
  g.kind = Granularity::Kind::block;
  g.block = block;
  g.axis = static_cast<size_t>(context.axis(context.integer("axis", 1), static_cast<int>(x.size())));
  for (size_t d = 0; d < x.size(); ++d) {
    const Dim expected = d == g.axis ? ceil_div(x[d], Dim(block)) : x[d];
    if (!context.equal(scale[d], expected)) {
      context.fail(fmt::format("a scale of shape {} does not fit {} in blocks of {} along axis {}",
                               to_string(scale), to_string(x), block, g.axis));
    }
  }
  return g;
}

/// Input 2, of the shape of the scale; undefined when absent. One parameter for the whole tensor may be a
/// scalar or a vector of one element.
TensorRef zero_point(const OperatorContext& context, Builder& b, const TensorRef& scale,
                     const Granularity& g) {
  if (!context.has(2)) return {};
  const TensorRef zero = operand(b, context, 2);
  const bool single = g.kind == Granularity::Kind::tensor && zero.rank() <= 1 &&
                      (zero.rank() == 0 || context.is_one(zero.dims()[0]));
  if (!single) check_dims(context, zero, scale.dims(), "the zero point");
  return zero;
}

bool is_quantized_type(ElementType type) {
  switch (type) {
    case ElementType::i2:
    case ElementType::u2:
    case ElementType::i4:
    case ElementType::u4:
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::i16:
    case ElementType::u16:
      return true;
    default:
      return is_float(type) && size_of(type) == 1;
  }
}

/// y = saturate(round_half_even(x / scale) + zero_point). The quotient is rounded to the type of the scale,
/// or to the attribute `precision` (opset 23), before it is rounded to an integer. Scales that are powers of
/// two (opset 28) say nothing of it: dividing by them is exact.
void define_quantize_linear(const OperatorContext& context, Builder& b) {
  const std::initializer_list<ElementType> allowed = {ElementType::f32, ElementType::f16, ElementType::bf16,
                                                      ElementType::i32};
  const TensorRef x = typed_operand(b, context, 0, allowed);
  const TensorRef scale = typed_operand(
      b, context, 1,
      {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i32, ElementType::f8e8m0});
  const Granularity g = granularity(context, x.dims(), scale.dims());
  const TensorRef zero = zero_point(context, b, scale, g);
  ElementType type = zero.defined() ? zero.type() : ElementType::u8;
  if (context.integer("output_dtype", 0) != 0) {
    const ElementType stated = type_attribute(context, "output_dtype", std::nullopt);
    context.check(!zero.defined() || stated == type, "attribute 'output_dtype' contradicts the zero point");
    type = stated;
  }
  context.check(is_quantized_type(type), fmt::format("{} is not a quantized type", name_of(type)));
  ElementType precision = is_real_type(scale.type()) ? scale.type() : ElementType::f32;
  if (context.integer("precision", 0) != 0) precision = type_attribute(context, "precision", std::nullopt);
  context.check(is_real_type(precision), "attribute 'precision' is not a float type");
  const bool saturate = flag(context, "saturate", true);
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar divisor = cast(ElementType::f64, scale(g.at(b, scale.dims().size(), i)));
    const Scalar quotient = widen(rounded(precision, cast(ElementType::f64, x(i)) / divisor));
    const Scalar offset =
        zero.defined() ? zero(g.at(b, zero.dims().size(), i)) : b.literal(quotient.type(), 0);
    return quantized(type, quotient, offset, saturate);
  }));
}

/// y = (x - zero_point) * scale, the difference exact.
void define_dequantize_linear(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  context.check(is_quantized_type(x.type()) || x.type() == ElementType::i32,
                fmt::format("{} is not a quantized type", name_of(x.type())));
  const TensorRef scale = typed_operand(
      b, context, 1, {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::f8e8m0});
  const Granularity g = granularity(context, x.dims(), scale.dims());
  const TensorRef zero = zero_point(context, b, scale, g);
  context.check(!zero.defined() || zero.type() == x.type(), "the zero point must have the type of the input");
  ElementType type = scale.type();
  if (context.integer("output_dtype", 0) != 0) type = type_attribute(context, "output_dtype", std::nullopt);
  context.check(is_real_type(type), "attribute 'output_dtype' is not a float type");
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar offset = zero.defined() ? zero(g.at(b, zero.dims().size(), i)) : b.literal(x.type(), 0);
    const Scalar difference = cast(ElementType::f32, centered(x(i), offset));
    return cast(type, difference * widen(scale(g.at(b, scale.dims().size(), i))));
  }));
}

/// The scale and zero point that map the range of x, widened to include 0, onto 0..255; every operation is
/// rounded to f32. A range of one point has scale 1.
void define_dynamic_quantize_linear(const OperatorContext& context, Builder& b) {
  const QuantizedBytes bytes = quantized_to_bytes(b, typed_operand(b, context, 0, {ElementType::f32}));
  b.output(bytes.values);
  b.output(bytes.scale);
  b.output(bytes.zero);
}

}  // namespace

QuantizedBytes quantized_to_bytes(Builder& b, const TensorRef& x) {
  constexpr double steps = 255;
  const auto load = [&](const Indices&, const Indices& r) { return x(r); };
  const TensorRef smallest = b.reduce(Monoid::Kind::min, {}, x.dims(), load);
  const TensorRef largest = b.reduce(Monoid::Kind::max, {}, x.dims(), load);
  const auto wide = [](const Scalar& value) { return cast(ElementType::f64, value); };
  const auto low = [&] { return min(wide(smallest({})), 0.0); };
  const TensorRef scale = b.map({}, [&](const Indices&) {
    const Scalar range = rounded(ElementType::f32, max(wide(largest({})), 0.0) - low());
    const Scalar step = rounded(ElementType::f32, wide(range) / steps);
    return select(range == 0.0, b.real(ElementType::f32, 1), step);
  });
  const TensorRef zero = b.map({}, [&](const Indices&) {
    const Scalar distance = rounded(ElementType::f32, -low() / wide(scale({})));
    return cast_saturate(ElementType::u8, round_even(distance));
  });
  const TensorRef values = b.map(x.dims(), [&](const Indices& i) {
    const Scalar quotient = rounded(ElementType::f32, wide(x(i)) / wide(scale({})));
    return quantized(ElementType::u8, quotient, zero({}));
  });
  return {values, scale, zero};
}

void quantization_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "QuantizeLinear", 10, define_quantize_linear},
                                {"", "DequantizeLinear", 10, define_dequantize_linear},
                                {"", "DynamicQuantizeLinear", 11, define_dynamic_quantize_linear},
                            });
}

}  // namespace axrun::ir
