// Resize: where an output point lies in the input, and the weights of what surrounds it.
#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/requirements.h"
#include "ir/ops/resize.h"

namespace axrun::ir {
namespace {

constexpr ElementType wide = ElementType::f64;

/// Real arithmetic on coordinates with a rounding to f32 after each step, or without.
struct Steps {
  bool to_single = false;
  Scalar operator()(const Scalar& x) const { return to_single ? cast(wide, cast(ElementType::f32, x)) : x; }
};

Scalar real_extent(Builder& b, const Dim& dim) { return cast(wide, b.extent(dim)); }

Scalar scale_of(Builder& b, const ResizeAxis& axis, const Steps& step) {
  if (axis.scale) return b.real(wide, *axis.scale);
  return step(real_extent(b, axis.output) / real_extent(b, axis.input));
}

/// The output size before it is rounded down to an integer.
Scalar fractional_output(Builder& b, const ResizeAxis& axis) {
  if (axis.scale) return real_extent(b, axis.input) * *axis.scale;
  return real_extent(b, axis.output);
}

Scalar cropped_coordinate(Builder& b, const Resizing& resizing, const ResizeAxis& axis, const TensorRef& roi,
                          const Scalar& x, const Steps& step) {
  Scalar start = b.real(wide, 0);
  Scalar end = b.real(wide, 1);
  if (axis.region >= 0) {
    start = cast(wide, roi({b.integer(axis.region)}));
    end = cast(wide, roi({b.integer(axis.region + resizing.regions)}));
  }
  const Scalar last = real_extent(b, axis.input) - 1;
  const Scalar middle = step(step(0.5 * step(start + end)) * last);
  if (axis.output == Dim(1)) return middle;
  const Scalar offset = step(step(step(x * step(end - start)) * last) / (real_extent(b, axis.output) - 1));
  const Scalar spread = step(step(start * last) + offset);
  if (axis.output.is_constant()) return spread;
  return select(b.extent(axis.output) > 1, spread, middle);
}

}  // namespace

Scalar original_coordinate(Builder& b, const Resizing& resizing, const ResizeAxis& axis, const TensorRef& roi,
                           const Scalar& index) {
  const Steps step = {resizing.interpolation == Interpolation::nearest || resizing.crops()};
  const Scalar x = cast(wide, index);
  const Scalar centred = step(step((x + 0.5) / scale_of(b, axis, step)) - 0.5);
  switch (resizing.coordinates) {
    case CoordinateMode::half_pixel:
      return centred;
    case CoordinateMode::half_pixel_symmetric: {
      const Scalar adjustment = step(real_extent(b, axis.output) / step(fractional_output(b, axis)));
      const Scalar offset = step(real_extent(b, axis.input) * 0.5 * step(1.0 - adjustment));
      return step(step(offset + step((x + 0.5) / scale_of(b, axis, step))) - 0.5);
    }
    case CoordinateMode::pytorch_half_pixel:
      if (axis.output == Dim(1)) return b.real(wide, 0);
      if (axis.output.is_constant()) return centred;
      return select(b.extent(axis.output) > 1, centred, b.real(wide, 0));
    case CoordinateMode::align_corners: {
      const Scalar width = fractional_output(b, axis);
      const Scalar spread = step(step(x * (real_extent(b, axis.input) - 1)) / step(width - 1));
      return select(width == 1.0, b.real(wide, 0), spread);
    }
    case CoordinateMode::asymmetric:
      return step(x / scale_of(b, axis, step));
    case CoordinateMode::tf_half_pixel_for_nn:
      return step((x + 0.5) / scale_of(b, axis, step));
    case CoordinateMode::tf_crop_and_resize:
      return cropped_coordinate(b, resizing, axis, roi, x, step);
  }
  return x;
}

Scalar clamped_index(Builder& b, const ResizeAxis& axis, const Scalar& index) {
  return max(min(index, b.extent(axis.input) - 1), 0);
}

Scalar nearest_index(Builder& b, const Resizing& resizing, const ResizeAxis& axis, const Scalar& coordinate) {
  Scalar real;
  switch (resizing.nearest) {
    case NearestMode::round_prefer_floor:
      real = ceil(coordinate - 0.5);
      break;
    case NearestMode::round_prefer_ceil:
      real = floor(coordinate + 0.5);
      break;
    case NearestMode::floor:
      real = floor(coordinate);
      break;
    case NearestMode::ceil:
      real = ceil(coordinate);
      break;
    case NearestMode::simple:
      real = axis.scale && *axis.scale < 1 ? ceil(coordinate) : floor(coordinate);
      break;
  }
  return clamped_index(b, axis, cast(ElementType::i64, real));
}

Scalar is_outside(Builder& b, const ResizeAxis& axis, const Scalar& coordinate) {
  return logical_or(coordinate<0.0, coordinate> real_extent(b, axis.input) - 1);
}

Scalar cubic_kernel(const Scalar& t, double a) {
  const Scalar inner = ((a + 2) * t - (a + 3)) * t * t + 1.0;
  const Scalar outer = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a;
  return select(t <= 1.0, inner, select(t < 2.0, outer, t.builder().real(t.type(), 0)));
}

Filter filter_of(const OperatorContext& context, const Resizing& resizing, const ResizeAxis& axis) {
  const int64_t radius = resizing.interpolation == Interpolation::cubic ? 2 : 1;
  Filter filter;
  if (resizing.antialias) {
    double scale = 1;
    if (axis.scale) {
      scale = *axis.scale;
    } else {
      scale =
          static_cast<double>(context.fixed(axis.output)) / static_cast<double>(context.fixed(axis.input));
    }
    if (scale < 1) filter.shrink = scale;
    // An axis without output points has no filter.
    if (!(filter.shrink > 0)) filter.shrink = 1;
    context.check(static_cast<double>(radius) / filter.shrink < 1e9, "a scale is too small");
  }
  filter.first = static_cast<int64_t>(std::floor(-static_cast<double>(radius) / filter.shrink)) + 1;
  filter.count = 2 - 2 * filter.first;
  return filter;
}

Scalar filter_weight(Builder& b, const Resizing& resizing, const Filter& filter, const Scalar& coordinate,
                     const Scalar& tap) {
  const Scalar position = floor(coordinate) + cast(wide, tap + filter.first);
  const Scalar distance = abs(coordinate - position) * filter.shrink;
  if (resizing.interpolation == Interpolation::cubic) {
    return cubic_kernel(distance, resizing.cubic_coefficient);
  }
  return max(1.0 - distance, b.real(wide, 0));
}

}  // namespace axrun::ir
