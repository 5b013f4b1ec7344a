// com.microsoft: pooling of bytes that lie channels last, and regions of images.
#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/requirements.h"
#include "ir/ops/window.h"

namespace axrun::ir {
namespace {

/// The largest of each window of [N, spatial..., C].
void nhwc_max_pool(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::i8, ElementType::u8});
  context.check(x.rank() >= 3, "the input must have at least 3 dimensions");
  const size_t last = x.dims().size() - 1;
  const Dims spatial = part(x.dims(), 1, last);
  const Window window = sliding_window(context, spatial, kernel_shape(context, spatial.size()),
                                       context.integer("ceil_mode", 0) != 0);
  const Dims result = joined(joined({x.dims()[0]}, window.output), {x.dims()[last]});
  const int64_t lowest = x.type() == ElementType::i8 ? std::numeric_limits<int8_t>::min() : 0;
  b.output(b.reduce(Monoid::Kind::max, result, window.kernel, [&](const Indices& i, const Indices& k) {
    const Indices point = window.at(part(i, 1, last), k);
    return x.padded(joined(joined({i[0]}, point), {i[last]}), b.integer(lowest, x.type()));
  }));
}

/// A position of CropAndResize along one axis, in elements of the input. Steps are rounded as f32 arithmetic
/// does: they decide whether the position is inside, and which element is nearest.
Scalar crop_position(Builder& b, const Scalar& low, const Scalar& high, const Dim& size, int64_t points,
                     const Scalar& point) {
  const auto step = [](const Scalar& x) { return cast(ElementType::f64, cast(ElementType::f32, x)); };
  const auto wide = [](const Scalar& x) { return cast(ElementType::f64, x); };
  const Scalar last = wide(b.extent(size)) - 1.0;
  if (points == 1) return step(step((wide(low) + wide(high)) * 0.5) * last);
  const Scalar scale = step(step(step(wide(high) - wide(low)) * last) / static_cast<double>(points - 1));
  return step(step(wide(low) * last) + step(wide(point) * scale));
}

/// Regions [regions, (y1, x1, y2, x2)] of [batch, channels, height, width], in parts of the height and the
/// width, resized to the crop_size of input 3; TensorFlow's operator with channels first.
void crop_and_resize(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() == 4, "the input must have rank 4");
  const TensorRef batch = typed_operand(b, context, 2, {ElementType::i32});
  context.check(batch.rank() == 1, "batch_indices must have rank 1");
  const Dim regions = batch.dims()[0];
  const TensorRef rois = shaped_operand(b, context, 1, {regions, Dim(4)}, "rois");
  context.check(rois.type() == x.type(), "rois must have the type of the input");
  declare_for_dims(b, context, 3);
  const std::vector<int64_t> crop = context.integers(3);
  constexpr int64_t largest = int64_t{1} << 20;
  context.check(crop.size() == 2 && crop[0] > 0 && crop[1] > 0 && crop[0] <= largest && crop[1] <= largest,
                "crop_size must be two sizes");
  const std::string mode = context.string("mode", "bilinear");
  context.check(mode == "bilinear" || mode == "nearest", "attribute 'mode' may not be '" + mode + "'");
  const double outside = context.real("extrapolation_value", 0);
  const ElementType type = compute_type(x.type());

  const Dims result = {regions, x.dims()[1], Dim(crop[0]), Dim(crop[1])};
  b.output(b.map(result, [&](const Indices& i) {
    Scalar inside = b.boolean(true);
    Scalar below[2], above[2], fraction[2];
    for (size_t a = 0; a < 2; ++a) {
      const auto column = static_cast<int64_t>(a);
      const Dim& size = x.dims()[2 + a];
      const Scalar position = crop_position(b, rois({i[0], b.integer(column)}),
                                            rois({i[0], b.integer(column + 2)}), size, crop[a], i[2 + a]);
      const Scalar last = b.extent(size) - 1;
      inside = logical_and(
          inside, logical_and(position >= 0.0, position <= cast(ElementType::f64, b.extent(size)) - 1.0));
      // Halves go up: positions that count are not negative.
      const Scalar lower = mode == "nearest" ? floor(position + 0.5) : floor(position);
      below[a] = max(min(cast(ElementType::i64, lower), last), 0);
      above[a] = min(below[a] + 1, last);
      fraction[a] = cast(type, position - floor(position));
    }
    const Scalar image = cast(ElementType::i64, batch({i[0]}));
    const auto at = [&](const Scalar& y, const Scalar& column) { return widen(x({image, i[1], y, column})); };
    Scalar value = at(below[0], below[1]);
    if (mode == "bilinear") {
      const auto between = [](const Scalar& from, const Scalar& to, const Scalar& part) {
        return from + (to - from) * part;
      };
      value = between(between(value, at(below[0], above[1]), fraction[1]),
                      between(at(above[0], below[1]), at(above[0], above[1]), fraction[1]), fraction[0]);
    }
    return cast(x.type(), select(inside, value, b.real(type, outside)));
  }));
}

/// Where a mask of [N', C', spatial...] is for a channel of [N, C, spatial...]: its channels are used in
/// turn.
Indices mask_channel(const Dims& mask, const Dims& input, const Indices& i) {
  if (mask[0] == input[0] && mask[1] == input[1]) return {i[0], i[1]};
  const Scalar channel = floor_mod(i[0] * input[1] + i[1], mask[0] * mask[1]);
  return {floor_div(channel, mask[1]), floor_mod(channel, mask[1])};
}

/// The largest of a window of which every row ends before the first element that the mask hides. In images
/// and volumes the very first element is never hidden. NaN counts as the lowest number.
void max_pool_with_mask(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::f32});
  const Dims spatial = spatial_dims(context, x.dims(), 1);
  context.check(spatial.size() <= 3, fmt::format("an input of shape {}", to_string(x.dims())));
  const TensorRef mask = typed_operand(b, context, 1, {ElementType::i32});
  context.check(mask.rank() == x.rank(), fmt::format("a mask of shape {}", to_string(mask.dims())));
  check_dims(context, mask, joined(part(mask.dims(), 0, 2), spatial), "the mask");
  const Dim channels = mask.dims()[0] * mask.dims()[1];
  context.check(!(channels == Dim(0)) || mask.dims() == x.dims(), "the mask is empty");
  const Window window = sliding_window(context, spatial, kernel_shape(context, spatial.size()));
  const size_t last = spatial.size() - 1;

  // How far before an element of its row the last hidden one is; beyond the window's reach there is none.
  const Dim reach = min(window.kernel[last], spatial[last]);
  const TensorRef distance =
      b.reduce(Monoid::Kind::min, mask.dims(), {reach}, [&](const Indices& i, const Indices& r) {
        Indices at = i;
        at.back() = i.back() - r[0];
        Scalar hidden = mask.padded(at, 1) == 0;
        if (spatial.size() > 1) {
          Scalar first = at[2] == 0;
          for (size_t d = 3; d < at.size(); ++d) first = logical_and(first, at[d] == 0);
          hidden = logical_and(hidden, !first);
        }
        return select(hidden, r[0], b.extent(reach));
      });
  const Scalar lowest = b.real(ElementType::f32, std::numeric_limits<float>::lowest());
  b.output(b.reduce(Monoid::Kind::max, joined(part(x.dims(), 0, 2), window.output), window.kernel,
                    [&](const Indices& i, const Indices& k) {
                      const Indices point = window.at(part(i, 2, i.size()), k);
                      const Indices channel = part(i, 0, 2);
                      const Scalar value = x.padded(joined(channel, point), lowest);
                      const Scalar begin = max(i.back() * window.strides[last] - window.pads_begin[last], 0);
                      const Scalar far =
                          distance.padded(joined(mask_channel(mask.dims(), x.dims(), channel), point), 0);
                      const Scalar counts = logical_and(far > point.back() - begin, value > lowest);
                      return select(counts, value, lowest);
                    }));
}

}  // namespace

void microsoft_pooling_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "NhwcMaxPool", 1, nhwc_max_pool});
  table.push_back({microsoft_domain, "CropAndResize", 1, crop_and_resize});
  table.push_back({microsoft_domain, "MaxpoolWithMask", 1, max_pool_with_mask});
}

}  // namespace axrun::ir
