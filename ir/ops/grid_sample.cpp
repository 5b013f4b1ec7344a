// GridSample and AffineGrid: sampling at positions given by data. Positions are normalized to -1..1 and list
// the innermost dimension first.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/requirements.h"
#include "ir/ops/resize.h"
#include "ir/ops/string_operators.h"

namespace axrun::ir {
namespace {

constexpr ElementType wide = ElementType::f64;

enum class Outside : uint8_t { zeros, border, reflection };

struct Sampling {
  Interpolation interpolation = Interpolation::linear;
  Outside outside = Outside::zeros;
  bool align_corners = false;
  Dims sizes;  ///< spatial dims of the input
};

Sampling sampling_of(const OperatorContext& context, const Dims& x) {
  Sampling sampling;
  const std::string mode = context.string("mode", context.version() < 20 ? "bilinear" : "linear");
  if (mode == "nearest") {
    sampling.interpolation = Interpolation::nearest;
  } else if (mode == "bicubic" || mode == "cubic") {
    sampling.interpolation = Interpolation::cubic;
  } else {
    context.check(mode == "bilinear" || mode == "linear", "attribute 'mode' may not be '" + mode + "'");
  }
  const std::string padding = context.string("padding_mode", "zeros");
  if (padding == "border") {
    sampling.outside = Outside::border;
  } else if (padding == "reflection") {
    sampling.outside = Outside::reflection;
  } else {
    context.check(padding == "zeros", "attribute 'padding_mode' may not be '" + padding + "'");
  }
  sampling.align_corners = flag(context, "align_corners", false);
  sampling.sizes = part(x, 2, x.size());
  return sampling;
}

/// Ends of the axis within which positions are left alone: the centres of the outer elements, or their outer
/// edges.
Scalar lower_border(Builder& b, const Sampling& s) { return b.real(wide, s.align_corners ? 0 : -0.5); }
Scalar upper_border(Builder& b, const Sampling& s, size_t d) {
  return cast(wide, b.extent(s.sizes[d])) - (s.align_corners ? 1.0 : 0.5);
}

/// A position folded back at both borders until it is between them.
Scalar reflected(Builder& b, const Sampling& s, size_t d, const Scalar& position) {
  const Scalar low = lower_border(b, s);
  const Scalar range = upper_border(b, s, d) - low;
  const Scalar phase = floor_mod(position - low, range * 2.0);
  return select(range == 0.0, low, low + min(phase, range * 2.0 - phase));
}

/// The element position of a normalized coordinate, brought inside as the padding mode asks.
Scalar element_position(Builder& b, const Sampling& s, size_t d, const Scalar& normalized) {
  const bool nearest = s.interpolation == Interpolation::nearest;
  // The nearest element is a decision: it is taken on values rounded as f32 arithmetic does.
  const auto step = [&](const Scalar& x) { return nearest ? cast(wide, cast(ElementType::f32, x)) : x; };
  const Scalar size = cast(wide, b.extent(s.sizes[d]));
  const Scalar shifted = step(normalized + 1.0);
  Scalar position = s.align_corners ? step(step(shifted * 0.5) * (size - 1.0))
                                    : step(step(step(shifted * size) - 1.0) * 0.5);
  if (nearest) position = round_even(position);
  // Cubic interpolation moves its neighbours inside, not the position itself.
  const bool left = s.outside == Outside::border && s.interpolation == Interpolation::cubic;
  if (s.outside == Outside::zeros || left) return position;
  const Scalar low = lower_border(b, s);
  const Scalar high = upper_border(b, s, d);
  const Scalar inside = logical_and(position >= low, position <= high);
  const Scalar moved =
      s.outside == Outside::border ? max(min(position, size - 1.0), 0.0) : reflected(b, s, d, position);
  return select(inside, position, moved);
}

/// x at integer positions (i64), which may lie outside: `nothing` is there.
Scalar element_at(Builder& b, const Sampling& s, const TensorRef& x, const std::function<Scalar()>& nothing,
                  const Indices& leading, const Indices& positions) {
  Indices at = leading;
  for (size_t d = 0; d < positions.size(); ++d) {
    Scalar index = positions[d];
    if (s.outside == Outside::border) {
      index = max(min(index, b.extent(s.sizes[d]) - 1), 0);
    } else if (s.outside == Outside::reflection) {
      index = cast(ElementType::i64, reflected(b, s, d, cast(wide, index)));
    }
    at.push_back(index);
  }
  return s.outside == Outside::zeros ? x.padded(at, nothing()) : x(at);
}

ElementType sampling_type(ElementType type) {
  if (is_float(type)) return compute_type(type);
  return bits_of(type) > 16 ? ElementType::f64 : ElementType::f32;
}

void define_grid_sample(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  const TensorRef grid = real_operand(b, context, 1);
  context.check(x.rank() >= 3 && grid.rank() == x.rank(),
                "the input and the grid must have one rank, 3 or more");
  context.check(context.version() >= 20 || x.rank() == 4, "the input must have rank 4");
  const Sampling s = sampling_of(context, x.dims());
  const size_t rank = s.sizes.size();
  constexpr size_t highest_rank = 6;
  context.check(rank <= highest_rank, "more than 6 spatial dimensions");
  if (!context.equal(grid.dims()[0], x.dims()[0]) ||
      !context.equal(grid.dims().back(), Dim(static_cast<int64_t>(rank)))) {
    context.fail(fmt::format("a grid of shape {} does not fit an input of shape {}", to_string(grid.dims()),
                             to_string(x.dims())));
  }
  const Dims points = part(grid.dims(), 1, grid.dims().size() - 1);
  // The position of each point in each spatial dimension, used by every channel.
  const TensorRef position =
      b.map(joined(joined({x.dims()[0]}, points), {Dim(static_cast<int64_t>(rank))}), [&](const Indices& i) {
        const Scalar dimension = i.back();
        Indices at = i;
        Scalar value;
        for (size_t d = rank; d-- > 0;) {
          at.back() = b.integer(static_cast<int64_t>(rank - 1 - d));
          const Scalar p = element_position(b, s, d, cast(wide, grid(at)));
          value = d + 1 == rank ? p : select(dimension == static_cast<int64_t>(d), p, value);
        }
        return value;
      });
  const auto position_of = [&](const Indices& i, size_t d) {
    return position(joined(joined({i[0]}, part(i, 2, 2 + rank)), {b.integer(static_cast<int64_t>(d))}));
  };
  const Dims result = joined({x.dims()[0], x.dims()[1]}, points);
  const bool nearest = s.interpolation == Interpolation::nearest;
  if (!nearest) require_type(context, 0, TypeClass::number);
  const auto nothing = nothing_of(b, x.type());
  if (nearest) {
    b.output(b.map(result, [&](const Indices& i) {
      Indices at;
      for (size_t d = 0; d < rank; ++d) at.push_back(cast(ElementType::i64, position_of(i, d)));
      return element_at(b, s, x, nothing, {i[0], i[1]}, at);
    }));
    return;
  }
  constexpr double cubic_coefficient = -0.75;
  const bool cubic = s.interpolation == Interpolation::cubic;
  const ElementType type = sampling_type(x.type());
  const Dims taps(rank, Dim(cubic ? 4 : 2));
  const TensorRef sum = b.sum(result, taps, [&](const Indices& i, const Indices& tap) {
    Indices at;
    Scalar weight = b.real(type, 1);
    for (size_t d = 0; d < rank; ++d) {
      const Scalar p = position_of(i, d);
      const Scalar offset = tap[d] + (cubic ? -1 : 0);
      const Scalar distance = abs(p - floor(p) - cast(wide, offset));
      const Scalar factor = cubic ? cubic_kernel(distance, cubic_coefficient) : 1.0 - distance;
      weight = weight * cast(type, factor);
      at.push_back(cast(ElementType::i64, floor(p)) + offset);
    }
    return weight * cast(type, element_at(b, s, x, nothing, {i[0], i[1]}, at));
  });
  b.output(b.map(result, [&](const Indices& i) { return cast(x.type(), sum(i)); }));
}

/// grid[n, p..., r] = theta[n, r, :] . (position of p, innermost first, 1).
void define_affine_grid(const OperatorContext& context, Builder& b) {
  const TensorRef theta = real_operand(b, context, 0);
  context.check(context.type(1) == ElementType::i64, "size must be of type i64");
  operand(b, context, 1);
  const Dims size = context.elements(1);
  context.check(size.size() == 4 || size.size() == 5, "size must have 4 or 5 entries");
  for (const Dim& dim : size) {
    context.check(context.may_be_at_least(dim, 0), "size has a negative entry");
  }
  const Dims spatial = part(size, 2, size.size());
  const auto rank = static_cast<int64_t>(spatial.size());
  check_dims(context, theta, {size[0], Dim(rank), Dim(rank + 1)}, "theta");
  const bool align_corners = flag(context, "align_corners", false);
  const ElementType type = compute_type(theta.type());
  const auto coordinate = [&](const Scalar& index, const Dim& length) {
    const Scalar extent = cast(type, b.extent(length));
    const Scalar number = cast(type, index);
    // A single element lies at -1.
    if (align_corners) return number * 2.0 / max(extent - 1.0, 1.0) - 1.0;
    return (number * 2.0 + 1.0) / extent - 1.0;
  };
  b.output(b.map(joined(joined({size[0]}, spatial), {Dim(rank)}), [&](const Indices& i) {
    const auto factor = [&](int64_t column) { return widen(theta({i[0], i.back(), b.integer(column)})); };
    Scalar sum = factor(rank);
    for (size_t d = 0; d < spatial.size(); ++d) {
      sum = sum + factor(rank - 1 - static_cast<int64_t>(d)) * coordinate(i[1 + d], spatial[d]);
    }
    return cast(theta.type(), sum);
  }));
}

}  // namespace

void grid_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "GridSample", 16, define_grid_sample},
                                {"", "AffineGrid", 20, define_affine_grid},
                            });
}

}  // namespace axrun::ir
