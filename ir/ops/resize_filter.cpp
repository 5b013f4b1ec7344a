// Resize: the programs, from coordinates and weights.
#include <algorithm>

#include "ir/ops/compute.h"
#include "ir/ops/resize.h"

namespace axrun::ir {
namespace {

constexpr ElementType wide = ElementType::f64;

/// A result index of every dimension from the axes of a map_grouped, with repeated dimensions split.
struct SplitAxes {
  Dims axes;
  std::vector<std::vector<int>> groups;
};

Scalar with_extrapolation(Builder& b, const Resizing& resizing, const std::vector<Scalar>& outside,
                          const Scalar& value) {
  if (outside.empty()) return value;
  Scalar any = outside[0];
  for (size_t k = 1; k < outside.size(); ++k) any = logical_or(any, outside[k]);
  return select(any, b.literal(value.type(), resizing.extrapolation_value), value);
}

/// From the type of the computation to the result's: integers are rounded to the nearest and saturate.
Scalar finished(ElementType type, const Scalar& value) {
  return is_float(type) ? cast(type, value) : cast_saturate(type, round_even(value));
}

/// Neighbours of one dimension as data of its own: index(x, tap) as an expression, weight[x, tap] as a
/// tensor.
struct FilteredAxis {
  size_t dimension = 0;
  Filter filter;
  TensorRef weight;
};

TensorRef weight_table(Builder& b, const Resizing& resizing, const ResizeAxis& axis, const TensorRef& roi,
                       const Filter& filter, ElementType type) {
  const Dims dims = {axis.output, Dim(filter.count)};
  const TensorRef raw = b.map(dims, [&](const Indices& i) {
    const Scalar coordinate = original_coordinate(b, resizing, axis, roi, i[0]);
    const Scalar weight = filter_weight(b, resizing, filter, coordinate, i[1]);
    if (!resizing.exclude_outside) return cast(type, weight);
    const Scalar position = cast(ElementType::i64, floor(coordinate)) + i[1] + filter.first;
    const Scalar inside = logical_and(position >= 0, position < axis.input);
    return cast(type, select(inside, weight, b.real(wide, 0)));
  });
  if (!resizing.exclude_outside && !resizing.antialias) return raw;
  const TensorRef total = b.sum({axis.output}, {Dim(filter.count)}, [&](const Indices& i, const Indices& r) {
    return raw({i[0], r[0]});
  });
  return b.map(dims, [&](const Indices& i) { return raw(i) / total({i[0]}); });
}

Scalar tap_index(Builder& b, const Resizing& resizing, const ResizeAxis& axis, const TensorRef& roi,
                 const Filter& filter, const Scalar& x, const Scalar& tap) {
  const Scalar coordinate = original_coordinate(b, resizing, axis, roi, x);
  return clamped_index(b, axis, cast(ElementType::i64, floor(coordinate)) + tap + filter.first);
}

ElementType interpolation_type(ElementType type) {
  if (is_float(type)) return compute_type(type);
  return bits_of(type) > 16 ? ElementType::f64 : ElementType::f32;
}

}  // namespace

void define_resize_nearest(Builder& b, const Resizing& resizing, const TensorRef& x, const TensorRef& roi) {
  SplitAxes split;
  for (const ResizeAxis& axis : resizing.axes) {
    const int next = static_cast<int>(split.axes.size());
    if (resizing.repeats(axis)) {
      split.axes.insert(split.axes.end(), {axis.input, Dim(axis.factor)});
      split.groups.push_back({next, next + 1});
    } else {
      split.axes.push_back(axis.output);
      split.groups.push_back({next});
    }
  }
  b.output(b.map_grouped(split.axes, split.groups, [&](const Indices& i) {
    Indices at;
    std::vector<Scalar> outside;
    for (size_t d = 0; d < resizing.axes.size(); ++d) {
      const ResizeAxis& axis = resizing.axes[d];
      const Scalar index = i[static_cast<size_t>(split.groups[d][0])];
      if (resizing.repeats(axis) || resizing.is_identity(axis)) {
        at.push_back(index);
        continue;
      }
      if (const auto ratio = resizing.nearest_ratio(axis)) {
        at.push_back(clamped_index(b, axis, floor_div(index * ratio->step + ratio->offset, ratio->divisor)));
        continue;
      }
      const Scalar coordinate = original_coordinate(b, resizing, axis, roi, index);
      if (resizing.crops()) outside.push_back(is_outside(b, axis, coordinate));
      at.push_back(nearest_index(b, resizing, axis, coordinate));
    }
    return with_extrapolation(b, resizing, outside, x(at));
  }));
}

namespace {

/// Linear interpolation of few dimensions: one map, its 2^n neighbours written out.
void define_linear(Builder& b, const Resizing& resizing, const TensorRef& x, const TensorRef& roi,
                   const std::vector<FilteredAxis>& filtered) {
  const ElementType type = interpolation_type(x.type());
  b.output(b.map(resizing.result(), [&](const Indices& i) {
    std::vector<Scalar> outside;
    std::vector<Scalar> coordinates;
    for (const FilteredAxis& f : filtered) {
      const ResizeAxis& axis = resizing.axes[f.dimension];
      coordinates.push_back(original_coordinate(b, resizing, axis, roi, i[f.dimension]));
      if (resizing.crops()) outside.push_back(is_outside(b, axis, coordinates.back()));
    }
    Scalar sum;
    for (size_t corner = 0; corner < (size_t{1} << filtered.size()); ++corner) {
      Indices at = i;
      Scalar weight = b.real(type, 1);
      for (size_t k = 0; k < filtered.size(); ++k) {
        const FilteredAxis& f = filtered[k];
        const bool upper = ((corner >> k) & 1) != 0;
        const Scalar below = floor(coordinates[k]);
        const Scalar fraction = cast(type, coordinates[k] - below);
        const Scalar index = cast(ElementType::i64, below) + (upper ? 1 : 0);
        at[f.dimension] = clamped_index(b, resizing.axes[f.dimension], index);
        weight = weight * (upper ? fraction : 1.0 - fraction);
      }
      const Scalar term = weight * cast(type, x(at));
      sum = corner == 0 ? term : sum + term;
    }
    return with_extrapolation(b, resizing, outside, finished(x.type(), sum));
  }));
}

/// Linear interpolation along one dimension.
TensorRef along_phases(Builder& b, const Resizing& resizing, const TensorRef& x, size_t dimension,
                       ElementType type) {
  const ResizeAxis& axis = resizing.axes[dimension];
  if (axis.input == Dim(1)) {
    Dims dims = x.dims();
    dims[dimension] = axis.output;
    return b.map(dims, [&](const Indices& i) {
      Indices at = i;
      at[dimension] = b.integer(0);
      return cast(type, x(at));
    });
  }
  const int64_t up = axis.up, down = axis.down;
  SplitAxes split;
  for (size_t d = 0; d < x.dims().size(); ++d) {
    const int next = static_cast<int>(split.axes.size());
    split.axes.push_back(d == dimension ? floor_div(axis.input, Dim(down)) : x.dims()[d]);
    split.groups.push_back({next});
    if (d != dimension) continue;
    split.axes.push_back(Dim(up));
    split.groups.back().push_back(next + 1);
  }
  // With x = up * period + phase the coordinate is down * period + ((2 * phase + 1) * down - up) / (2 * up),
  // or down * period + phase * down / up.
  const bool from_edge = resizing.coordinates == CoordinateMode::asymmetric;
  const int64_t parts = from_edge ? up : 2 * up;
  return b.map_grouped(split.axes, split.groups, [&](const Indices& i) {
    Indices at;
    for (const std::vector<int>& group : split.groups) at.push_back(i[static_cast<size_t>(group[0])]);
    const Scalar phase = i[static_cast<size_t>(split.groups[dimension][1])];
    const Scalar offset = from_edge ? phase * down : phase * (2 * down) + (down - up);
    const int64_t middle = from_edge ? 0 : down - 1;  // the offset of a single phase
    const Scalar period = at[dimension] * down;
    const Scalar below = up == 1 ? period + middle / parts : period + floor_div(offset, parts);
    const Scalar above = below + 1;
    const auto element = [&](const Scalar& index) {
      Indices there = at;
      there[dimension] = index;
      return x(there);
    };
    const auto guarded = [&](const Scalar& index, const Scalar& inside, const Scalar& edge) {
      Indices there = at;
      there[dimension] = index;
      return x.guarded(there, inside, element(edge));
    };
    // Points between those of the input; where it is enlarged, the outer ones lie beyond it.
    const bool beyond = down < up;
    const Scalar low =
        cast(type, beyond && !from_edge ? guarded(below, below >= 0, b.integer(0)) : element(below));
    const Scalar high =
        cast(type, beyond ? guarded(above, above < axis.input, b.extent(axis.input) - 1) : element(above));
    if (up == 1 && middle % parts == 0) return low;
    if (up == 1) return 0.5 * low + 0.5 * high;
    const Scalar fraction = cast(type, cast(wide, floor_mod(offset, parts)) / static_cast<double>(parts));
    return (1.0 - fraction) * low + fraction * high;
  });
}

/// The same between any two sizes: what is below a point, and how far it is from there, are quotient and
/// remainder.
TensorRef along_ratio(Builder& b, const CoordinateRatio& ratio, const TensorRef& x, size_t dimension,
                      const ResizeAxis& axis, ElementType type) {
  const int64_t last = axis.input.value() - 1;
  const Dim& output = axis.output;
  const auto numerator = [&](const Scalar& i) { return i * ratio.step + ratio.offset; };
  Dims dims = x.dims();
  dims[dimension] = output;
  if (ratio.divisor == 1) {
    return b.map(dims, [&](const Indices& i) {
      Indices at = i;
      at[dimension] = min(max(numerator(i[dimension]), 0), last);
      return cast(type, x(at));
    });
  }
  const TensorRef fractions = b.map({output}, [&](const Indices& i) {
    return cast(type, floor_mod(numerator(i[0]), ratio.divisor)) / static_cast<double>(ratio.divisor);
  });
  return b.map(dims, [&](const Indices& i) {
    const Scalar below = floor_div(numerator(i[dimension]), ratio.divisor);
    const auto element = [&](const Scalar& index) {
      Indices at = i;
      at[dimension] = index;
      return cast(type, x(at));
    };
    const Scalar fraction = fractions({i[dimension]});
    return (1.0 - fraction) * element(max(below, 0)) + fraction * element(min(below + 1, last));
  });
}

/// One dimension after the other, the last one first: the fewest elements are computed.
void define_phases(Builder& b, const Resizing& resizing, const TensorRef& x,
                   const std::vector<FilteredAxis>& filtered) {
  const ElementType type = interpolation_type(x.type());
  TensorRef resized = x;
  for (auto f = filtered.rbegin(); f != filtered.rend(); ++f) {
    const ResizeAxis& axis = resizing.axes[f->dimension];
    resized = resizing.has_phases(axis)
                  ? along_phases(b, resizing, resized, f->dimension, type)
                  : along_ratio(b, *resizing.ratio(axis), resized, f->dimension, axis, type);
  }
  if (resized.type() == x.type()) return b.output(resized);
  b.output(b.map(resizing.result(), [&](const Indices& i) { return finished(x.type(), resized(i)); }));
}

}  // namespace

void define_resize_filtered(const OperatorContext& context, Builder& b, const Resizing& resizing,
                            const TensorRef& x, const TensorRef& roi) {
  constexpr size_t most_written_out = 4;
  const ElementType type = interpolation_type(x.type());
  std::vector<FilteredAxis> filtered;
  for (size_t d = 0; d < resizing.axes.size(); ++d) {
    const ResizeAxis& axis = resizing.axes[d];
    if (resizing.is_identity(axis)) continue;
    filtered.push_back({d, filter_of(context, resizing, axis), {}});
  }
  if (resizing.has_linear_coordinates() && !filtered.empty()) return define_phases(b, resizing, x, filtered);
  const bool plain = resizing.interpolation == Interpolation::linear && !resizing.antialias;
  if (plain && filtered.size() <= most_written_out) return define_linear(b, resizing, x, roi, filtered);

  Dims taps;
  for (FilteredAxis& f : filtered) {
    f.weight = weight_table(b, resizing, resizing.axes[f.dimension], roi, f.filter, type);
    taps.push_back(Dim(f.filter.count));
  }
  const Dims result = resizing.result();
  const TensorRef sum = b.sum(result, taps, [&](const Indices& i, const Indices& tap) {
    Indices at = i;
    Scalar weight = b.real(type, 1);
    for (size_t k = 0; k < filtered.size(); ++k) {
      const FilteredAxis& f = filtered[k];
      const ResizeAxis& axis = resizing.axes[f.dimension];
      at[f.dimension] = tap_index(b, resizing, axis, roi, f.filter, i[f.dimension], tap[k]);
      weight = weight * f.weight({i[f.dimension], tap[k]});
    }
    return weight * cast(type, x(at));
  });
  b.output(b.map(result, [&](const Indices& i) {
    std::vector<Scalar> outside;
    if (resizing.crops()) {
      for (const FilteredAxis& f : filtered) {
        const ResizeAxis& axis = resizing.axes[f.dimension];
        outside.push_back(is_outside(b, axis, original_coordinate(b, resizing, axis, roi, i[f.dimension])));
      }
    }
    return with_extrapolation(b, resizing, outside, finished(x.type(), sum(i)));
  }));
}

}  // namespace axrun::ir
