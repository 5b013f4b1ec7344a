// DeformConv (https://arxiv.org/abs/1703.06211, https://arxiv.org/abs/1811.11168).
#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/convolution.h"

namespace axrun::ir {
namespace {

/// x[leading..., position...] interpolated linearly between the 2^n grid points around a real position; grid
/// points outside the tensor count as 0.
Scalar interpolated(Builder& b, const TensorRef& x, const Indices& leading,
                    const std::vector<Scalar>& position, const Dims& sizes) {
  const size_t rank = position.size();
  const ElementType type = position[0].type();
  // An index is only formed where the position is near the tensor: floats beyond i64 have no index.
  std::vector<Scalar> lower;
  std::vector<Scalar> fraction;
  Scalar near = b.boolean(true);
  for (size_t d = 0; d < rank; ++d) {
    const Scalar inside = logical_and(position[d] > -1, position[d] < cast(type, b.extent(sizes[d])));
    const Scalar safe = select(inside, position[d], b.real(type, 0));
    near = logical_and(near, inside);
    lower.push_back(cast(ElementType::i64, floor(safe)));
    fraction.push_back(safe - floor(safe));
  }
  Scalar sum;
  for (size_t corner = 0; corner < (size_t{1} << rank); ++corner) {
    Indices index = leading;
    Scalar guard = near;
    Scalar weight = b.real(type, 1);
    for (size_t d = 0; d < rank; ++d) {
      const bool upper = ((corner >> d) & 1) != 0;
      const Scalar at = upper ? lower[d] + 1 : lower[d];
      guard = logical_and(guard, logical_and(at >= 0, at < sizes[d]));
      weight = weight * (upper ? fraction[d] : 1 - fraction[d]);
      index.push_back(at);
    }
    const Scalar term = weight * cast(type, x.guarded(index, guard, b.real(x.type(), 0)));
    sum = corner == 0 ? term : sum + term;
  }
  return sum;
}

/// Y[n, m, o] = B[m] + sum over c, k of W[m, c, k] mask X[n, c, o * stride + k * dilation - pad + offset].
void define_deform_conv(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const TensorRef w = real_operand(b, context, 1);
  for (int k = 1; k < context.inputs(); ++k) {
    context.check(!context.has(k) || context.type(k) == x.type(), "the inputs must have one type");
  }
  const Convolution c = convolution_of(context, x.dims(), w.dims());
  const Window& window = c.window;
  const size_t rank = window.rank();
  context.check(rank <= 4, "more than 4 spatial dimensions");
  const int64_t groups = bounded_integer(context, "offset_group", 1, 1, std::numeric_limits<int32_t>::max());
  const Dim& channels = x.dims()[1];
  if (!context.equal(floor_mod(channels, Dim(groups)), Dim(0))) {
    context.fail(fmt::format("{} channels do not split into {} offset groups", channels.to_string(), groups));
  }
  const Dim group_channels = floor_div(channels, Dim(groups));
  const Dim points = product(window.kernel);
  const auto spatial = static_cast<int64_t>(rank);
  const TensorRef offset = shaped_operand(
      b, context, 2, joined({x.dims()[0], groups * points * spatial}, window.output), "the offset");
  TensorRef mask;
  if (context.has(4)) {
    mask = shaped_operand(b, context, 4, joined({x.dims()[0], groups * points}, window.output), "the mask");
  }

  // columns[n, offset group, c in it, k..., o...]: the masked samples, each used by every output channel.
  const ElementType type = compute_type(x.type());
  const Dims axes = joined(joined({x.dims()[0], Dim(groups), group_channels}, window.kernel), window.output);
  std::vector<std::vector<int>> merge = {{0}, {1, 2}};
  for (size_t a = 3; a < axes.size(); ++a) merge.push_back({static_cast<int>(a)});
  const TensorRef columns = b.map_grouped(axes, merge, [&](const Indices& i) {
    const Indices k = part(i, 3, 3 + rank);
    const Indices o = part(i, 3 + rank, i.size());
    Scalar point = i[1];
    for (size_t d = 0; d < rank; ++d) point = point * window.kernel[d] + k[d];
    const Indices grid = window.at(o, k);
    std::vector<Scalar> position;
    for (size_t d = 0; d < rank; ++d) {
      const Scalar shift = offset(joined({i[0], point * spatial + static_cast<int64_t>(d)}, o));
      position.push_back(cast(type, grid[d]) + widen(shift));
    }
    const Scalar value = interpolated(b, x, {i[0], i[1] * group_channels + i[2]}, position, window.input);
    return mask.defined() ? value * widen(mask(joined({i[0], point}, o))) : value;
  });
  const TensorRef sum = b.reduce_grouped(
      Monoid::Kind::sum, c.axes, c.merge, c.reduced, [&](const Indices& i, const Indices& r) {
        const Indices k = part(r, 1, r.size());
        const Scalar column =
            columns(joined(joined({i[0], i[1] * c.group_inputs + r[0]}, k), part(i, 3, i.size())));
        return column * widen(w(joined({i[1] * c.group_outputs + i[2], r[0]}, k)));
      });
  TensorRef bias;
  if (context.has(3)) bias = shaped_operand(b, context, 3, {c.result[1]}, "the bias");
  b.output(b.map(c.result, [&](const Indices& i) {
    return cast(x.type(), bias.defined() ? sum(i) + widen(bias({i[1]})) : sum(i));
  }));
}

}  // namespace

void deformable_convolution_operators(std::vector<OperatorEntry>& table) {
  table.push_back({"", "DeformConv", 19, define_deform_conv});
}

}  // namespace axrun::ir
