// RoiAlign (https://arxiv.org/abs/1703.06870) and MaxRoiPool: pooling over regions given by data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/pooling.h"

namespace axrun::ir {
namespace {

constexpr int64_t largest_output = int64_t{1} << 20;  ///< of a pooled height or width
constexpr int64_t largest_grid = 4096;                ///< sampling points of a bin along one axis

/// One axis of RoiAlign: 0 is y (rows), 1 is x (columns).
struct AlignAxis {
  Dim size;
  int64_t bins = 1;
  int64_t grid = 1;  ///< reduced points: the sampling ratio, or the most that any region needs
};

struct Align {
  double scale = 1;
  double offset = 0;
  bool at_least_one = false;  ///< regions are widened to 1
  int64_t sampling_ratio = 0;
  AlignAxis axes[2];
};

Align align_attributes(const OperatorContext& context, const Dims& x) {
  Align align;
  align.scale = context.real("spatial_scale", 1);
  align.sampling_ratio = bounded_integer(context, "sampling_ratio", 0, 0, largest_grid);
  const std::string mode = context.string("coordinate_transformation_mode",
                                          context.version() < 16 ? "output_half_pixel" : "half_pixel");
  context.check(mode == "half_pixel" || mode == "output_half_pixel",
                "attribute 'coordinate_transformation_mode' may not be '" + mode + "'");
  align.offset = mode == "half_pixel" ? 0.5 : 0;
  align.at_least_one = mode == "output_half_pixel";
  align.axes[0].bins = bounded_integer(context, "output_height", 1, 1, largest_output);
  align.axes[1].bins = bounded_integer(context, "output_width", 1, 1, largest_output);
  for (size_t a = 0; a < 2; ++a) align.axes[a].size = x[2 + a];
  return align;
}

/// The extent of the sampling grid of every bin. Where it adapts to the regions, those must be known: an
/// upper bound over all of them is taken, and each region uses its own part.
void bound_grid(const OperatorContext& context, Align& align) {
  for (size_t a = 0; a < 2; ++a) {
    AlignAxis& axis = align.axes[a];
    axis.grid = align.sampling_ratio;
    if (axis.grid > 0) continue;
    const Tensor& regions = context.constant(1);
    double largest = 1;
    for (int64_t r = 0; r < regions.size() / 4; ++r) {
      const auto column = static_cast<int64_t>(1 - a);
      const double begin = regions.get_real(4 * r + column);
      const double end = regions.get_real(4 * r + column + 2);
      const double points = std::ceil((end - begin) * align.scale / static_cast<double>(axis.bins)) + 1;
      if (points > largest) largest = points;  // false for NaN
    }
    if (largest > largest_grid) context.unsupported("a region needs more than 4096 sampling points");
    axis.grid = static_cast<int64_t>(largest);
  }
}

/// The geometry of one region along one axis, each step rounded to the operator's type: the number of points
/// is decided by these values.
struct AlignGeometry {
  Scalar start;
  Scalar bin;     ///< extent of a bin
  Scalar points;  ///< i64
};

AlignGeometry geometry(Builder& b, const Align& align, size_t a, ElementType type, const Scalar& low,
                       const Scalar& high) {
  const auto step = [&](const Scalar& x) { return widen(rounded(type, x)); };
  const auto wide = [](const Scalar& x) { return cast(ElementType::f64, x); };
  AlignGeometry g;
  g.start = step(wide(step(wide(low) * align.scale)) - align.offset);
  const Scalar end = step(wide(step(wide(high) * align.scale)) - align.offset);
  Scalar size = step(wide(end) - wide(g.start));
  if (align.at_least_one) size = max(size, 1.0);
  g.bin = step(wide(size) / static_cast<double>(align.axes[a].bins));
  g.points =
      align.sampling_ratio > 0
          ? b.integer(align.sampling_ratio)
          : cast(ElementType::i64, max(min(ceil(g.bin), static_cast<double>(align.axes[a].grid)), 0.0));
  return g;
}

/// The two grid lines around a sampled coordinate: the coordinate is clamped into the tensor, and within one
/// step outside of it still counts.
struct AlignSample {
  Scalar valid;
  Scalar lower;
  Scalar upper;
  Scalar fraction;
};

AlignSample sample_at(Builder& b, const Scalar& coordinate, const Dim& size) {
  const ElementType type = coordinate.type();
  const Scalar extent = cast(type, b.extent(size));
  AlignSample s;
  s.valid = logical_and(coordinate >= -1, coordinate <= extent);
  const Scalar inside = max(min(coordinate, extent - 1), 0.0);
  s.lower = cast(ElementType::i64, floor(inside));
  s.upper = min(s.lower + 1, b.extent(size) - 1);
  s.fraction = inside - floor(inside);
  return s;
}

/// avg: the mean of the samples. max: the largest of the samples' weighted corners, which is what the
/// reference implementation of ONNX computes (it does not sum a sample's corners before taking the maximum).
void define_roi_align(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() == 4, "the input must have rank 4");
  context.check(context.type(1) == x.type(), "rois must have the type of the input");
  context.check(context.type(2) == ElementType::i64, "batch_indices must be of type i64");
  context.check(context.rank(2) == 1, "batch_indices must have rank 1");
  const TensorRef batch = operand(b, context, 2);
  const Dim regions = batch.dims()[0];
  const TensorRef rois = shaped_operand(b, context, 1, {regions, Dim(4)}, "rois");
  const std::string mode = context.string("mode", "avg");
  context.check(mode == "avg" || mode == "max", "attribute 'mode' may not be '" + mode + "'");
  const bool average = mode == "avg";
  Align align = align_attributes(context, x.dims());
  bound_grid(context, align);
  const ElementType type = compute_type(x.type());

  const auto region = [&](const Scalar& r, size_t a) {
    const auto column = static_cast<int64_t>(1 - a);
    return geometry(b, align, a, x.type(), rois({r, b.integer(column)}), rois({r, b.integer(column + 2)}));
  };
  const Dims result = {regions, x.dims()[1], Dim(align.axes[0].bins), Dim(align.axes[1].bins)};
  const auto term = [&](const Indices& i, const Indices& k) {
    Scalar used = b.boolean(true);
    AlignSample samples[2];
    for (size_t a = 0; a < 2; ++a) {
      const AlignGeometry g = region(i[0], a);
      used = logical_and(used, k[a] < g.points);
      const Scalar position = (cast(type, k[a]) + 0.5) * g.bin / cast(type, max(g.points, 1));
      samples[a] = sample_at(b, g.start + cast(type, i[2 + a]) * g.bin + position, align.axes[a].size);
    }
    const Scalar inside = logical_and(used, logical_and(samples[0].valid, samples[1].valid));
    Scalar value;
    for (int corner = 0; corner < 4; ++corner) {
      Indices at = {batch({i[0]}), i[1]};
      Scalar weight = b.real(type, 1);
      for (int a = 0; a < 2; ++a) {
        const bool upper = ((corner >> a) & 1) != 0;
        at.push_back(upper ? samples[a].upper : samples[a].lower);
        weight = weight * (upper ? samples[a].fraction : 1 - samples[a].fraction);
      }
      const Scalar weighted = weight * cast(type, x.guarded(at, inside, b.real(x.type(), 0)));
      value = corner == 0 ? weighted : average ? value + weighted : max(value, weighted);
    }
    if (average) return value;
    return select(used, value, b.real(type, -std::numeric_limits<double>::infinity()));
  };
  const TensorRef pooled = b.reduce(average ? Monoid::Kind::sum : Monoid::Kind::max, result,
                                    {Dim(align.axes[0].grid), Dim(align.axes[1].grid)}, term);
  b.output(b.map(result, [&](const Indices& i) {
    const Scalar points = region(i[0], 0).points * region(i[0], 1).points;
    const Scalar value =
        average ? pooled(i) / cast(type, max(points, 1)) : select(points == 0, b.real(type, 0), pooled(i));
    return cast(x.type(), value);
  }));
}

/// Rounds half away from zero.
Scalar nearest(const Scalar& x) { return unary(ScalarOp::sign, x) * floor(abs(x) + 0.5); }

/// The maximum over the bins of each region [batch, x1, y1, x2, y2], ends included; an empty bin gives 0. The
/// bounds of bin p of n over a region of size s are floor(p s / n) and ceil((p + 1) s / n).
void define_max_roi_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() == 4, "the input must have rank 4");
  context.check(context.type(1) == x.type() && context.rank(1) == 2,
                "rois must be a matrix of the input's type");
  const Dim regions = context.dims(1)[0];
  const TensorRef rois = shaped_operand(b, context, 1, {regions, Dim(5)}, "rois");
  const double scale = context.real("spatial_scale", 1);
  const std::vector<int64_t> bins = context.integers("pooled_shape");
  context.check(bins.size() == 2, "attribute 'pooled_shape' must have 2 entries");
  for (int64_t count : bins) {
    context.check(count >= 1 && count <= largest_output, "attribute 'pooled_shape' is out of range");
  }
  // Coordinates beyond this are clamped, so that nothing overflows; no tensor reaches so far.
  constexpr double limit = 1e9;
  const auto corner = [&](const Scalar& r, int64_t column) {
    const Scalar value = cast(ElementType::f64, rois({r, b.integer(column)})) * scale;
    return cast(ElementType::i64, max(min(nearest(value), limit), -limit));
  };
  const auto within_bin = [&](const Indices& i, size_t a, const Scalar& position) {
    const auto column = static_cast<int64_t>(2 - a);
    const Scalar begin = corner(i[0], column);
    const Scalar size = max(corner(i[0], column + 2) - begin + 1, 1);
    const Scalar first = floor_div(i[2 + a] * size, bins[a]);
    const Scalar last = floor_div((i[2 + a] + 1) * size + (bins[a] - 1), bins[a]);
    return logical_and(position >= begin + first, position < begin + last);
  };
  const Dims result = {regions, x.dims()[1], Dim(bins[0]), Dim(bins[1])};
  const auto covers = [&](const Indices& i, const Indices& k) {
    return logical_and(within_bin(i, 0, k[0]), within_bin(i, 1, k[1]));
  };
  const Dims image = {x.dims()[2], x.dims()[3]};
  const TensorRef largest =
      b.reduce(Monoid::Kind::max, result, image, [&](const Indices& i, const Indices& k) {
        const Scalar image_number = cast(ElementType::i64, rois({i[0], b.integer(0)}));
        return x.guarded({image_number, i[1], k[0], k[1]}, covers(i, k),
                         b.real(x.type(), -std::numeric_limits<double>::infinity()));
      });
  const TensorRef covered = b.sum(result, image, [&](const Indices& i, const Indices& k) {
    return cast(ElementType::i64, covers(i, k));
  });
  b.output(b.map(result,
                 [&](const Indices& i) { return select(covered(i) == 0, b.real(x.type(), 0), largest(i)); }));
}

}  // namespace

void region_pooling_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "RoiAlign", 10, define_roi_align},
                                {"", "MaxRoiPool", 1, define_max_roi_pool},
                            });
}

}  // namespace axrun::ir
