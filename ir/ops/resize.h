#pragma once

#include <optional>

#include "ir/operator.h"

namespace axrun::ir {

/// How a point of the resized axis maps to the original one (ONNX Resize, coordinate_transformation_mode).
enum class CoordinateMode : uint8_t {
  half_pixel,
  half_pixel_symmetric,
  pytorch_half_pixel,
  align_corners,
  asymmetric,
  tf_half_pixel_for_nn,
  tf_crop_and_resize,
};

/// How a real coordinate becomes an index. `simple` is that of Upsample and of Resize 10, which do not say:
/// down when enlarging, up when reducing.
enum class NearestMode : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil, simple };

enum class Interpolation : uint8_t { nearest, linear, cubic };

struct ResizeAxis {
  Dim input;
  Dim output;
  /// The scale when it is given; otherwise it is output / input.
  std::optional<double> scale;
  int region = -1;  ///< entry of roi that holds the start, when the axis is cropped
  /// k when output = k * input exactly, else 0.
  int64_t factor = 0;
  /// output / input = up / down exactly, and up is small; 0 where it is not.
  int64_t up = 0, down = 1;
};

/// A coordinate as a quotient of integers: that of point x is (step * x + offset) / divisor.
struct CoordinateRatio {
  int64_t step = 0;
  int64_t offset = 0;
  int64_t divisor = 1;
};

/// Every decision about one Resize or Upsample node.
struct Resizing {
  Interpolation interpolation = Interpolation::nearest;
  CoordinateMode coordinates = CoordinateMode::half_pixel;
  NearestMode nearest = NearestMode::round_prefer_floor;
  double cubic_coefficient = -0.75;
  bool exclude_outside = false;
  bool antialias = false;
  double extrapolation_value = 0;
  int regions = 0;  ///< number of axes that roi covers; roi holds the starts, then the ends
  std::vector<ResizeAxis> axes;

  bool crops() const { return coordinates == CoordinateMode::tf_crop_and_resize; }
  /// Output index = input index along the axis: it is not resized. (A cropped axis of one element has the
  /// coordinate 0 whatever its region is.)
  bool is_identity(const ResizeAxis& axis) const;
  /// Output index = input index * factor + 0..factor-1: each element is repeated.
  bool repeats(const ResizeAxis& axis) const;
  /// Linear, and points that are `up` apart, or `down` in the input, have the same weights. The others of
  /// such a period are its phases. An axis of one element is one period.
  bool has_phases(const ResizeAxis& axis) const;
  /// Linear, from a known size to a known one by exactly their ratio, neither of them large.
  std::optional<CoordinateRatio> ratio(const ResizeAxis& axis) const;
  /// Exact coordinates of linear interpolation; nothing where the axis has neither phases nor a ratio.
  std::optional<CoordinateRatio> linear_coordinates(const ResizeAxis& axis) const;
  /// Every axis that is resized has exact coordinates: they are interpolated one after the other. One whose
  /// coordinates are all whole has elements picked from it: neighbours, which have no weight, are not read.
  bool has_linear_coordinates() const;
  /// The quotients, rounded down and brought into the axis, are the nearest indices of all of its points,
  /// just as the formula's roundings have them. Nothing where they differ, or sizes are not known or large.
  std::optional<CoordinateRatio> nearest_ratio(const ResizeAxis& axis) const;
  Dims result() const;

 private:
  std::optional<CoordinateRatio> exact_ratio(const ResizeAxis& axis) const;
};

/// Resize since opset 11: inputs X, roi, scales, sizes.
Resizing resizing_of(const OperatorContext& context);
/// Resize 10 and Upsample: scales from an input or from attributes.
Resizing simple_resizing_of(const OperatorContext& context);

/// The original coordinate (f64) of index x of the resized axis. Where a decision hangs on it (the nearest
/// index, whether it is outside), every step is rounded to f32 in the order of the formula, as runtimes
/// compute it: 3 / 0.6f is 5 then, and not just below.
Scalar original_coordinate(Builder& b, const Resizing& resizing, const ResizeAxis& axis, const TensorRef& roi,
                           const Scalar& x);
/// The index moved to the nearest end of the axis where it lies outside.
Scalar clamped_index(Builder& b, const ResizeAxis& axis, const Scalar& index);
/// The nearest index, within the axis.
Scalar nearest_index(Builder& b, const Resizing& resizing, const ResizeAxis& axis, const Scalar& coordinate);
/// Whether a cropped coordinate lies outside of the original axis.
Scalar is_outside(Builder& b, const ResizeAxis& axis, const Scalar& coordinate);

/// The weighted neighbours of a coordinate: `count` taps from floor(coordinate) + first on, with weight
/// kernel(shrink * distance).
struct Filter {
  int64_t first = 0;
  int64_t count = 1;
  double shrink = 1;
};
Filter filter_of(const OperatorContext& context, const Resizing& resizing, const ResizeAxis& axis);
Scalar filter_weight(Builder& b, const Resizing& resizing, const Filter& filter, const Scalar& coordinate,
                     const Scalar& tap);

void define_resize_nearest(Builder& b, const Resizing& resizing, const TensorRef& x, const TensorRef& roi);
void define_resize_filtered(const OperatorContext& context, Builder& b, const Resizing& resizing,
                            const TensorRef& x, const TensorRef& roi);
void grid_operators(std::vector<OperatorEntry>& table);

/// Keys' cubic convolution kernel with parameter a (IEEE Trans. ASSP 29(6), 1981, equation 4) at a distance
/// >= 0.
Scalar cubic_kernel(const Scalar& distance, double a);

}  // namespace axrun::ir
