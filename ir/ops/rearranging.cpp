// Transpose, DepthToSpace, SpaceToDepth, Col2Im.

#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/movement_parts.h"
#include "ir/ops/requirements.h"
#include "ir/ops/window.h"

namespace axrun::ir {
namespace {

void define_transpose(const OperatorContext& context, Builder& b) {
  const TensorRef x = operand(b, context, 0);
  std::vector<int64_t> permutation = context.integers("perm");
  if (!context.has_attribute("perm")) {
    for (int d = x.rank(); d-- > 0;) permutation.push_back(d);
  }
  context.check(static_cast<int>(permutation.size()) == x.rank(), "attribute 'perm' does not fit the rank");
  const std::vector<int> axes = context.axes(permutation, x.rank());
  Dims dims;
  for (int axis : axes) dims.push_back(x.dims()[static_cast<size_t>(axis)]);
  b.output(b.map(dims, [&](const Indices& i) {
    Indices at(i.size());
    for (size_t d = 0; d < i.size(); ++d) at[static_cast<size_t>(axes[d])] = i[d];
    return x(at);
  }));
}

struct Blocks {
  int64_t size;
  bool depth_first;  ///< DCR: a pixel of the block is an outer index of the channels; CRD: an inner one
};

Blocks blocks_of(const OperatorContext& context) {
  require_rank(context, 0, 4);
  context.check(context.has_attribute("blocksize"), "attribute 'blocksize' is missing");
  constexpr int64_t largest = 1 << 20;
  const int64_t size = bounded_integer(context, "blocksize", 0, 1, largest);
  const std::string mode = context.string("mode", "DCR");
  context.check(mode == "DCR" || mode == "CRD", "attribute 'mode' must be DCR or CRD");
  return {size, mode == "DCR"};
}

/// a / b, which must be whole.
Dim whole_quotient(const OperatorContext& context, const Dim& a, int64_t b) {
  context.check(context.equal(floor_mod(a, Dim(b)), Dim(0)),
                fmt::format("a dimension of {} cannot be divided by {}", a.to_string(), b));
  return floor_div(a, Dim(b));
}

/// [N, C, H, W] to [N, C / s^2, H s, W s]; the block's pixel (p, q) comes from a channel of its own.
void define_depth_to_space(const OperatorContext& context, Builder& b) {
  const Blocks blocks = blocks_of(context);
  const TensorRef x = operand(b, context, 0);
  const Dim s = blocks.size;
  const Dim channels = whole_quotient(context, x.dims()[1], blocks.size * blocks.size);
  const Dims axes = {x.dims()[0], channels, x.dims()[2], s, x.dims()[3], s};
  b.output(b.map_grouped(axes, {{0}, {1}, {2, 3}, {4, 5}}, [&](const Indices& i) {
    const Scalar pixel = i[3] * s + i[5];
    const Scalar channel = blocks.depth_first ? pixel * channels + i[1] : i[1] * (s * s) + pixel;
    return x({i[0], channel, i[2], i[4]});
  }));
}

/// The inverse.
void define_space_to_depth(const OperatorContext& context, Builder& b) {
  const Blocks blocks = blocks_of(context);
  const TensorRef x = operand(b, context, 0);
  const Dim s = blocks.size;
  const Dim rows = whole_quotient(context, x.dims()[2], blocks.size);
  const Dim columns = whole_quotient(context, x.dims()[3], blocks.size);
  if (blocks.depth_first) {
    const Dims axes = {x.dims()[0], s, s, x.dims()[1], rows, columns};
    b.output(b.map_grouped(axes, {{0}, {1, 2, 3}, {4}, {5}}, [&](const Indices& i) {
      return x({i[0], i[3], i[4] * s + i[1], i[5] * s + i[2]});
    }));
    return;
  }
  const Dims axes = {x.dims()[0], x.dims()[1], s, s, rows, columns};
  b.output(b.map_grouped(axes, {{0}, {1, 2, 3}, {4}, {5}}, [&](const Indices& i) {
    return x({i[0], i[1], i[4] * s + i[2], i[5] * s + i[3]});
  }));
}

/// Row-major position of a point.
Scalar flat_index(Builder& b, const Indices& point, const Dims& extents) {
  Scalar flat = b.integer(0);
  for (size_t d = 0; d < point.size(); ++d) flat = flat * extents[d] + point[d];
  return flat;
}

/// Sums overlapping blocks back into an image: [N, C * block points, block positions] to [N, C, image...]. A
/// pixel sums over the points k of a block; the block that covers it with k, if there is one, starts at
/// (pixel + pad - k * dilation) / stride.
void define_col2im(const OperatorContext& context, Builder& b) {
  require_type(context, 0, TypeClass::number);
  require_rank(context, 0, 3);
  const TensorRef x = operand(b, context, 0);
  const Dims image = context.elements(1);
  const std::vector<int64_t> block = context.integers(2);
  const size_t rank = image.size();
  context.check(block.size() == rank, "image_shape and block_shape differ in length");
  const WindowAttributes window = window_attributes(context, rank);
  int64_t points = 1;
  Dims positions;
  for (size_t d = 0; d < rank; ++d) {
    constexpr int64_t largest = 1 << 20;
    context.check(block[d] >= 1 && block[d] <= largest && points <= largest, "block_shape is out of range");
    points *= block[d];
    const Dim room =
        image[d] + window.pads[d] + window.pads[rank + d] - window.dilations[d] * (block[d] - 1) - 1;
    positions.push_back(floor_div(room, Dim(window.strides[d])) + 1);
  }
  const Dim channels = whole_quotient(context, x.dims()[1], points);
  context.check(context.equal(x.dims()[2], product(positions)),
                fmt::format("{} blocks where the image has {}", x.dims()[2].to_string(),
                            product(positions).to_string()));
  const Dims block_dims = to_dims(block);
  const Dims dims = joined({x.dims()[0], channels}, image);
  const TensorRef sum = b.sum(dims, block_dims, [&](const Indices& i, const Indices& k) {
    Scalar covered = b.boolean(true);
    Indices start;
    for (size_t d = 0; d < rank; ++d) {
      const Scalar reach = i[2 + d] + window.pads[d] - k[d] * window.dilations[d];
      start.push_back(floor_div(reach, window.strides[d]));
      covered = logical_and(covered, floor_mod(reach, window.strides[d]) == 0);
      covered = logical_and(covered, logical_and(start[d] >= 0, start[d] < positions[d]));
    }
    const Scalar channel = i[1] * points + flat_index(b, k, block_dims);
    const Scalar value =
        x.guarded({i[0], channel, flat_index(b, start, positions)}, covered, b.literal(x.type(), 0));
    return widen(value);
  });
  b.output(sum.type() == x.type() ? sum
                                  : b.map(dims, [&](const Indices& i) { return cast(x.type(), sum(i)); }));
}

}  // namespace

void rearranging_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{"", "Col2Im", 18, define_col2im},
                             {"", "DepthToSpace", 1, define_depth_to_space},
                             {"", "SpaceToDepth", 1, define_space_to_depth},
                             {"", "Transpose", 1, define_transpose}});
}

}  // namespace axrun::ir
