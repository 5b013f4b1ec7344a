// MaxPool, GlobalMaxPool and MaxUnpool.
#include "ir/ops/pooling.h"

#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/window.h"

namespace axrun::ir {
namespace {

Scalar lowest(Builder& b, ElementType type) {
  if (is_float(type)) return b.real(type, -std::numeric_limits<double>::infinity());
  return b.integer(integer_min(type), type);
}

}  // namespace

std::vector<Scalar> first_maximum_identity(Builder& b, ElementType type) {
  return {lowest(b, type), b.integer(std::numeric_limits<int64_t>::max())};
}

std::vector<Scalar> first_maximum(const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
  Scalar larger = right[0] > left[0];
  Scalar tie = right[0] == left[0];
  if (is_float(left[0].type())) {
    const Scalar left_nan = unary(ScalarOp::is_nan, left[0]);
    const Scalar right_nan = unary(ScalarOp::is_nan, right[0]);
    larger = logical_or(larger, logical_and(right_nan, !left_nan));
    tie = logical_or(tie, logical_and(right_nan, left_nan));
  }
  const Scalar take = logical_or(larger, logical_and(tie, right[1] < left[1]));
  return {select(take, right[0], left[0]), select(take, right[1], left[1])};
}

namespace {

TensorRef pooled_operand(Builder& b, const OperatorContext& context) {
  return typed_operand(b, context, 0,
                       {ElementType::f16, ElementType::bf16, ElementType::f32, ElementType::f64,
                        ElementType::i8, ElementType::u8});
}

/// The row-major position of a point within the spatial dims.
Scalar position_of(Builder& b, const Indices& point, const Dims& dims) {
  Scalar position = b.integer(0);
  for (size_t d = 0; d < dims.size(); ++d) position = position * dims[d] + point[d];
  return position;
}

/// The number of an element of the whole input, from its position within its channel: row-major, or with the
/// spatial dims in column-major order. -1 when the window holds padding only.
Scalar element_number(const OperatorContext& context, Builder& b, const Scalar& channel,
                      const Scalar& position, const Dims& spatial) {
  Scalar number = position;
  if (context.integer("storage_order", 0) != 0) {
    // Horner's rule from the last spatial dimension to the first, peeling digits off the position.
    std::vector<Scalar> digits(spatial.size());
    Scalar rest = position;
    for (size_t d = spatial.size(); d-- > 0;) {
      digits[d] = floor_mod(rest, b.extent(spatial[d]));
      rest = floor_div(rest, b.extent(spatial[d]));
    }
    number = b.integer(0);
    for (size_t d = spatial.size(); d-- > 0;) number = number * spatial[d] + digits[d];
  }
  const Scalar none_found = position == std::numeric_limits<int64_t>::max();
  return select(none_found, b.integer(-1), channel * product(spatial) + number);
}

void define_max_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = pooled_operand(b, context);
  const Dims spatial = spatial_dims(context, x.dims(), 1);
  const Window window = sliding_window(context, spatial, kernel_shape(context, spatial.size()),
                                       context.integer("ceil_mode", 0) != 0);
  const Dims result = joined(part(x.dims(), 0, 2), window.output);
  const auto point = [&](const Indices& i, const Indices& k) { return window.at(part(i, 2, i.size()), k); };
  const auto value = [&](const Indices& i, const Indices& k) {
    return x.padded(joined(part(i, 0, 2), point(i, k)), lowest(b, x.type()));
  };
  if (!context.wants(1)) return b.output(b.reduce(Monoid::Kind::max, result, window.kernel, value));

  // Padding has the position of the identity, so that it is never chosen over an element.
  const std::vector<TensorRef> best = b.reduce_tuple(
      result, window.kernel, first_maximum_identity(b, x.type()),
      [&](const Indices& i, const Indices& k) {
        const Indices at = point(i, k);
        Scalar inside = b.boolean(true);
        for (size_t d = 0; d < spatial.size(); ++d) {
          inside = logical_and(inside, logical_and(at[d] >= 0, at[d] < spatial[d]));
        }
        const Scalar position =
            select(inside, position_of(b, at, spatial), b.integer(std::numeric_limits<int64_t>::max()));
        return std::vector<Scalar>{value(i, k), position};
      },
      first_maximum);
  b.output(best[0]);
  b.output(b.map(result, [&](const Indices& i) {
    return element_number(context, b, i[0] * x.dims()[1] + i[1], best[1](i), spatial);
  }));
}

void define_global_max_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const Dims spatial = spatial_dims(context, x.dims(), 1);
  const Dims result = joined(part(x.dims(), 0, 2), Dims(spatial.size(), Dim(1)));
  b.output(b.reduce(Monoid::Kind::max, result, spatial,
                    [&](const Indices& i, const Indices& r) { return x(joined(part(i, 0, 2), r)); }));
}

/// Every element goes to the place its index names; the rest is 0. Indices count the elements of the shape
/// that the window attributes imply; a larger output_shape adds zeros at the end of each dimension.
void define_max_unpool(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(context.type(1) == ElementType::i64, "the indices must be of type i64");
  const TensorRef indices = shaped_operand(b, context, 1, x.dims(), "the indices");
  const Dims spatial = spatial_dims(context, x.dims(), 1);
  const size_t rank = spatial.size();
  const Dims kernel = kernel_shape(context, rank);
  const WindowAttributes attributes = window_attributes(context, rank);
  Dims implied = part(x.dims(), 0, 2);
  for (size_t d = 0; d < rank; ++d) {
    implied.push_back((spatial[d] - 1) * attributes.strides[d] + kernel[d] - attributes.pads[d] -
                      attributes.pads[rank + d]);
    context.check(context.may_be_at_least(implied.back(), 0), "the padding exceeds the output");
  }
  Dims result = implied;
  if (context.has(2)) {
    operand(b, context, 2);
    result = context.elements(2);
    bool fits = result.size() == implied.size();
    for (size_t d = 0; fits && d < result.size(); ++d) fits = !context.less(result[d], implied[d]);
    if (!fits) {
      context.fail(fmt::format("output_shape {} is less than {}", to_string(result), to_string(implied)));
    }
  }
  const TensorRef zeros = b.map(result, [&](const Indices&) { return b.real(x.type(), 0); });
  b.output(b.scatter(zeros, x.dims(), ScatterCombine::assign, [&](const Indices& i) {
    Scalar rest = indices(i);
    Indices target(implied.size());
    for (size_t d = implied.size(); d-- > 1;) {
      // No element is written when a dim is 0, but the divisor must not be.
      const Scalar extent = b.extent(max(implied[d], Dim(1)));
      target[d] = floor_mod(rest, extent);
      rest = floor_div(rest, extent);
    }
    target[0] = rest;
    return Builder::Update{target, x(i), {}};
  }));
}

}  // namespace

void pooling_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "MaxPool", 1, define_max_pool},
                                {"", "GlobalMaxPool", 1, define_global_max_pool},
                                {"", "MaxUnpool", 9, define_max_unpool},
                            });
  average_pooling_operators(table);
  region_pooling_operators(table);
}

}  // namespace axrun::ir
