// Random generators.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "ir/ops/compute.h"
#include "ir/ops/random_bits.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Binary digits of a type's significand: as many as a uniform number of the type has.
int digits_of(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return 53;
    case ElementType::f32:
      return 24;
    case ElementType::f16:
      return 11;
    default:
      return 8;
  }
}

ElementType real_type(const OperatorContext& context, std::optional<ElementType> otherwise) {
  const ElementType type = type_attribute(context, "dtype", otherwise);
  context.check(is_real_type(type), fmt::format("type {} is not a float type", name_of(type)));
  return type;
}

Dims shape_attribute(const OperatorContext& context) {
  context.check(context.has_attribute("shape"), "attribute 'shape' is needed");
  const auto shape = context.integers("shape");
  for (int64_t size : shape) context.check(size >= 0, "attribute 'shape' has a negative size");
  return to_dims(shape);
}

void output_uniform(const OperatorContext& context, Builder& b, ElementType type, const Dims& dims) {
  const RandomBits generator(b, context, dims);
  const double low = context.real("low", 0);
  const double high = context.real("high", 1);
  b.output(b.map(dims, [&](const Indices& i) {
    return cast(type, generator.uniform(i, digits_of(type)) * (high - low) + low);
  }));
}

/// Box and Muller's transform.
void output_normal(const OperatorContext& context, Builder& b, ElementType type, const Dims& dims) {
  const RandomBits generator(b, context, dims);
  const double mean = context.real("mean", 0);
  const double deviation = context.real("scale", 1);
  b.output(b.map(dims, [&](const Indices& i) {
    const Scalar length = sqrt(log(1.0 - generator.uniform(i, 53, 0, 2)) * -2.0);
    const Scalar angle = generator.uniform(i, 53, 1, 2) * (2 * std::numbers::pi);
    return cast(type, length * unary(ScalarOp::cos, angle) * deviation + mean);
  }));
}

using Output = void (*)(const OperatorContext&, Builder&, ElementType, const Dims&);

template <Output output>
void from_shape(const OperatorContext& context, Builder& b) {
  output(context, b, real_type(context, ElementType::f32), shape_attribute(context));
}

template <Output output>
void like_input(const OperatorContext& context, Builder& b) {
  output(context, b, real_type(context, context.type(0)), context.dims(0));
}

void bernoulli(const OperatorContext& context, Builder& b) {
  const TensorRef p = real_operand(b, context, 0);
  const ElementType type = type_attribute(context, "dtype", p.type());
  context.check(type != ElementType::string, "strings cannot be drawn");
  const RandomBits generator(b, context, p.dims());
  b.output(b.map(p.dims(), [&](const Indices& i) {
    return cast(type, generator.uniform(i, 53) < cast(ElementType::f64, p(i)));
  }));
}

/// The class with the highest sum of log-probability and Gumbel noise is drawn with its probability.
void multinomial(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() == 2, "a shape of [N, classes] is needed");
  const ElementType type = type_attribute(context, "dtype", ElementType::i32);
  context.check(type == ElementType::i32 || type == ElementType::i64, "dtype must be int32 or int64");
  const int64_t samples = bounded_integer(context, "sample_size", 1, 1, std::numeric_limits<int32_t>::max());
  const Dims dims = {x.dims()[0], Dim(samples)};
  const Dim classes = x.dims()[1];
  const RandomBits generator(b, context, {dims[0], dims[1], classes});
  const std::vector<Scalar> identity = {b.real(ElementType::f64, -std::numeric_limits<double>::infinity()),
                                        b.integer(0)};
  const TensorRef drawn = b.reduce_tuple(
      dims, {classes}, identity,
      [&](const Indices& i, const Indices& r) {
        const Scalar u = generator.uniform({i[0], i[1], r[0]}, 52) + std::ldexp(1, -53);  // never 0 or 1
        return std::vector<Scalar>{cast(ElementType::f64, x({i[0], r[0]})) - log(-log(u)), r[0]};
      },
      [](const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
        const Scalar better = right[0] > left[0];
        return std::vector<Scalar>{select(better, right[0], left[0]), select(better, right[1], left[1])};
      })[1];
  b.output(type == drawn.type() ? drawn
                                : b.map(dims, [&](const Indices& i) { return cast(type, drawn(i)); }));
}

}  // namespace

void random_operators(std::vector<OperatorEntry>& table) {
  dropout_operators(table);
  table.insert(table.end(), {{"", "Bernoulli", 15, bernoulli},
                             {"", "Multinomial", 7, multinomial},
                             {"", "RandomNormal", 1, from_shape<output_normal>},
                             {"", "RandomNormalLike", 1, like_input<output_normal>},
                             {"", "RandomUniform", 1, from_shape<output_uniform>},
                             {"", "RandomUniformLike", 1, like_input<output_uniform>}});
}

}  // namespace axrun::ir
