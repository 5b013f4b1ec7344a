// com.microsoft: what ONNX Runtime's optimiser makes of diffusion models.
#include <fmt/format.h>

#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

struct GroupNorm {
  bool channels_last = true;
  bool silu = false;
  int64_t groups = 1;
  double epsilon = 1e-5F;
  Dims dims;
  Dim channels, group_size;

  GroupNorm(const OperatorContext& context, const Dims& x) : dims(x) {
    context.check(dims.size() >= 3, fmt::format("an input of shape {}", to_string(dims)));
    channels_last = flag(context, "channels_last", true);
    const int64_t activation = context.integer("activation", 0);
    context.check(activation == 0 || activation == 1, fmt::format("activation {} is unknown", activation));
    silu = activation == 1;
    groups = bounded_integer(context, "groups", 0, 1, int64_t{1} << 30);
    epsilon = context.real("epsilon", 1e-5F);
    channels = dims[channels_last ? dims.size() - 1 : 1];
    group_size = floor_div(channels, Dim(groups));
    context.check(context.equal(group_size * groups, channels),
                  fmt::format("{} groups do not divide {} channels", groups, channels.to_string()));
  }

  Dims spatial() const { return channels_last ? part(dims, 1, dims.size() - 1) : part(dims, 2, dims.size()); }
  /// The index of x for a batch, a channel and a place.
  Indices at(const Scalar& batch, const Scalar& channel, const Indices& place) const {
    return channels_last ? joined(joined({batch}, place), {channel}) : joined({batch, channel}, place);
  }

  /// x must be of a compute type.
  TensorRef apply(Builder& b, const TensorRef& x, ElementType type, const TensorRef& gamma,
                  const TensorRef& beta) const {
    const Dims reduced = joined({group_size}, spatial());
    const Dims rows = {dims[0], Dim(groups)};
    const auto load = [&](const Indices& i, const Indices& r) {
      return x(at(i[0], i[1] * group_size + r[0], part(r, 1, r.size())));
    };
    const TensorRef total = b.sum(rows, reduced, load);
    const auto mean = [&](const Indices& i) { return total(i) / count_of(b, total.type(), reduced); };
    const TensorRef squares = b.sum(rows, reduced, [&](const Indices& i, const Indices& r) {
      const Scalar deviation = load(i, r) - mean(i);
      return deviation * deviation;
    });
    return b.map(dims, [&](const Indices& i) {
      const Scalar& channel = i[channels_last ? i.size() - 1 : 1];
      const Indices row = {i[0], floor_div(channel, b.extent(group_size))};
      const Scalar variance = squares(row) / count_of(b, squares.type(), reduced);
      Scalar y = (x(i) - mean(row)) * (1.0 / sqrt(variance + epsilon));
      y = y * cast(y.type(), gamma({channel})) + cast(y.type(), beta({channel}));
      return cast(type, silu ? y * sigmoid(y) : y);
    });
  }
};

void group_norm(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const GroupNorm norm(context, x.dims());
  const TensorRef gamma = shaped_operand(b, context, 1, {norm.channels}, "gamma");
  const TensorRef beta = shaped_operand(b, context, 2, {norm.channels}, "beta");
  const TensorRef wide = b.map(x.dims(), [&](const Indices& i) { return widen(x(i)); });
  b.output(norm.apply(b, wide, x.type(), gamma, beta));
}

/// Of x + skip + bias, which is the second output. Inputs: x, gamma, beta, skip, bias. The skip is like x, or
/// has one row of channels for every image.
void skip_group_norm(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const GroupNorm norm(context, x.dims());
  const TensorRef gamma = shaped_operand(b, context, 1, {norm.channels}, "gamma");
  const TensorRef beta = shaped_operand(b, context, 2, {norm.channels}, "beta");
  const TensorRef skip = real_operand(b, context, 3);
  const bool is_whole = skip.rank() == x.rank() && context.broadcasts_to(skip.dims(), x.dims());
  if (!is_whole) check_dims(context, skip, {x.dims()[0], norm.channels}, "skip");
  TensorRef bias;
  if (context.has(4)) bias = shaped_operand(b, context, 4, {norm.channels}, "the bias");
  const TensorRef sum = b.map(x.dims(), [&](const Indices& i) {
    const Scalar& channel = i[norm.channels_last ? i.size() - 1 : 1];
    const Scalar value = widen(x(i));
    const Scalar other = is_whole ? broadcast_load(context, skip, i, x.dims()) : skip({i[0], channel});
    const Scalar both = value + cast(value.type(), other);
    return bias.defined() ? both + cast(value.type(), bias({channel})) : both;
  });
  b.output(norm.apply(b, sum, x.type(), gamma, beta));
  if (context.wants(1)) {
    b.output(b.map(x.dims(), [&](const Indices& i) { return cast(x.type(), sum(i)); }));
  }
}

/// x + bias + skip.
void bias_add(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() == 3, fmt::format("an input of shape {}", to_string(x.dims())));
  const TensorRef bias = shaped_operand(b, context, 1, {x.dims()[2]}, "the bias");
  const TensorRef skip = shaped_operand(b, context, 2, x.dims(), "skip");
  b.output(b.map(x.dims(), [&](const Indices& i) {
    return cast(x.type(), widen(x(i)) + widen(bias({i[2]})) + widen(skip(i)));
  }));
}

/// With h = x + bias, the left half of h times gelu of the right one.
void bias_split_gelu(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() == 3, fmt::format("an input of shape {}", to_string(x.dims())));
  const TensorRef bias = shaped_operand(b, context, 1, {x.dims()[2]}, "the bias");
  const Dim half = floor_div(x.dims()[2], Dim(2));
  context.check(context.equal(half * 2, x.dims()[2]), "the hidden size is odd");
  b.output(b.map({x.dims()[0], x.dims()[1], half}, [&](const Indices& i) {
    const Scalar second = i[2] + half;
    const Scalar left = widen(x(i)) + widen(bias({i[2]}));
    const Scalar right = widen(x({i[0], i[1], second})) + widen(bias({second}));
    return cast(x.type(), left * right * 0.5 * (erf(right * std::sqrt(0.5)) + 1.0));
  }));
}

}  // namespace

void microsoft_diffusion_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "BiasAdd", 1, bias_add},
                             {microsoft_domain, "BiasSplitGelu", 1, bias_split_gelu},
                             {microsoft_domain, "GroupNorm", 1, group_norm},
                             {microsoft_domain, "SkipGroupNorm", 1, skip_group_norm}});
}

}  // namespace axrun::ir
