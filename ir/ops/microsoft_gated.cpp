// com.microsoft: what surrounds linear attention in decoders that have gates: norms, sums and activations
// whose factors come from a second projection. All arithmetic is in f32 and rounded once.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

void causal_convolution(const OperatorContext& context, Builder& b) {
  for (const char* name :
       {"state_update_capacity", "state_window", "state_length", "input_channel_offset", "input_channels"}) {
    if (context.integer(name, 0) != 0) context.unsupported(fmt::format("attribute '{}'", name));
  }
  if (context.integer("state_channels_last", -1) != -1)
    context.unsupported("attribute 'state_channels_last'");
  define_as(context, b, "CausalConvWithState", 27);
}

void linear_attention(const OperatorContext& context, Builder& b) {
  if (context.integer("state_window", 0) != 0) context.unsupported("attribute 'state_window'");
  define_as(context, b, "LinearAttention", 27);
}

/// decay = decay_scale * softplus(a + dt_bias), beta = sigmoid(b). Inputs: a, dt_bias, decay_scale, b.
void linear_attention_gate(const OperatorContext& context, Builder& b) {
  const TensorRef a = real_operand(b, context, 0);
  context.check(a.rank() == 3, fmt::format("a of shape {}", to_string(a.dims())));
  const Dims heads = {a.dims()[2]};
  const TensorRef bias = shaped_operand(b, context, 1, heads, "dt_bias");
  const TensorRef scale = shaped_operand(b, context, 2, heads, "decay_scale");
  b.output(b.map(a.dims(), [&](const Indices& i) {
    return cast(a.type(), widen(scale({i[2]})) * softplus(widen(a(i)) + widen(bias({i[2]}))));
  }));
  if (!context.wants(1)) return;
  context.check(context.has(3), "beta is wanted, but there is no input 'b'");
  const TensorRef rate = shaped_operand(b, context, 3, a.dims(), "b");
  b.output(b.map(a.dims(), [&](const Indices& i) { return cast(rate.type(), sigmoid(widen(rate(i)))); }));
}

/// 1 / sqrt(mean of squares + epsilon) of every group of `size` neighbours of x's last dimension.
TensorRef inverse_of_groups(const OperatorContext& context, Builder& b, const TensorRef& x, const Dim& size,
                            double epsilon) {
  context.check(x.rank() > 0 && context.equal(floor_mod(x.dims().back(), size), Dim(0)),
                fmt::format("groups of {} do not divide {}", size.to_string(), to_string(x.dims())));
  Dims groups = x.dims();
  groups.back() = floor_div(groups.back(), size);
  const TensorRef squares = b.sum(groups, {size}, [&](const Indices& i, const Indices& r) {
    Indices at = i;
    at.back() = i.back() * size + r[0];
    const Scalar value = widen(x(at));
    return value * value;
  });
  return b.map(groups, [&](const Indices& i) {
    return 1.0 / sqrt(squares(i) / count_of(b, squares.type(), {size}) + epsilon);
  });
}

/// Over x's dimensions, whose last one is split into groups: body(index of x, index of its group, place in
/// it).
TensorRef map_groups(Builder& b, const TensorRef& x, const Dim& size,
                     const std::function<Scalar(const Indices&, const Indices&, const Scalar&)>& body) {
  Dims axes = x.dims();
  axes.back() = floor_div(axes.back(), size);
  axes.push_back(size);
  std::vector<std::vector<int>> merged;
  for (int d = 0; d + 1 < x.rank(); ++d) merged.push_back({d});
  merged.push_back({x.rank() - 1, x.rank()});
  return b.map_grouped(axes, merged, [&](const Indices& i) {
    const Indices group = part(i, 0, i.size() - 1);
    Indices at = group;
    at.back() = group.back() * size + i.back();
    return body(at, group, i.back());
  });
}

/// x, normalised in groups as long as the scale, times the activation of the gate.
void gated_rms_norm(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const TensorRef scale = real_operand(b, context, 1);
  context.check(scale.rank() == 1, fmt::format("a scale of shape {}", to_string(scale.dims())));
  const TensorRef gate = shaped_operand(b, context, 2, x.dims(), "the gate");
  const std::string activation = context.string("activation", "silu");
  const bool is_silu = activation == "silu" || activation == "swish";
  context.check(is_silu || activation == "sigmoid", fmt::format("activation '{}' is unknown", activation));
  const Dim& size = scale.dims()[0];
  const TensorRef inverse = inverse_of_groups(context, b, x, size, context.real("epsilon", 1e-5F));
  b.output(map_groups(b, x, size, [&](const Indices& i, const Indices& group, const Scalar& place) {
    const Scalar z = widen(gate(i));
    const Scalar factor = is_silu ? z * sigmoid(z) : sigmoid(z);
    return cast(x.type(), widen(x(i)) * inverse(group) * widen(scale({place})) * factor);
  }));
}

/// x (..., C, H), or (..., C * H) with num_branches C, normalised over H; a scale (C * H), (C, H) or (H).
void branchwise_rms_norm(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const int64_t branches = bounded_integer(context, "num_branches", 0, 0, int64_t{1} << 30);
  context.check(x.rank() > (branches > 0 ? 0 : 1), fmt::format("an input of shape {}", to_string(x.dims())));
  const size_t last = x.dims().size() - 1;
  const Dim count = branches > 0 ? Dim(branches) : x.dims()[last - 1];
  const Dim size = branches > 0 ? floor_div(x.dims()[last], count) : x.dims()[last];
  context.check(branches == 0 || context.equal(size * count, x.dims()[last]),
                fmt::format("{} branches do not divide {}", branches, to_string(x.dims())));
  TensorRef scale;
  if (context.has(1)) {
    scale = real_operand(b, context, 1);
    const bool is_shared = scale.rank() == 1 && context.equal(scale.dims()[0], size);
    const bool is_flat = scale.rank() == 1 && context.equal(scale.dims()[0], count * size);
    const bool is_matrix =
        scale.rank() == 2 && context.equal(scale.dims()[0], count) && context.equal(scale.dims()[1], size);
    context.check(is_shared || is_flat || is_matrix,
                  fmt::format("a scale of shape {}", to_string(scale.dims())));
  }
  const TensorRef inverse = inverse_of_groups(context, b, x, size, context.real("epsilon", 1e-5F));
  b.output(map_groups(b, x, size, [&](const Indices& i, const Indices& group, const Scalar& place) {
    const Scalar value = widen(x(i)) * inverse(group);
    if (!scale.defined()) return cast(x.type(), value);
    const Scalar branch = branches > 0 ? group.back() : group[last - 1];
    const bool is_shared = scale.rank() == 1 && context.equal(scale.dims()[0], size);
    const Indices at = scale.rank() == 2 ? Indices{branch, place}
                       : is_shared       ? Indices{place}
                                         : Indices{branch * size + place};
    return cast(x.type(), value * widen(scale(at)));
  }));
}

/// x + y * gate, with a gate for every row; the product is rounded to the type of x.
void gated_add(const OperatorContext& context, Builder& b) {
  if (context.has(3)) context.unsupported("input 'gate_weight'");
  const TensorRef x = real_operand(b, context, 0);
  context.check(x.rank() > 0, "X is a scalar");
  const TensorRef y = shaped_operand(b, context, 1, x.dims(), "Y");
  Dims rows = x.dims();
  rows.back() = Dim(1);
  const TensorRef gate = shaped_operand(b, context, 2, rows, "the gate");
  b.output(b.map(x.dims(), [&](const Indices& i) {
    Indices row = i;
    row.back() = b.integer(0);
    return cast(x.type(), widen(x(i)) + widen(rounded(x.type(), widen(y(i)) * widen(gate(row)))));
  }));
}

/// g sigmoid(alpha g) (u + beta), with g and u clamped to a positive limit; without `up` the gate holds both,
/// side by side.
void swiglu(const OperatorContext& context, Builder& b) {
  const TensorRef gate = real_operand(b, context, 0);
  context.check(gate.rank() > 0, "the gate is a scalar");
  const bool is_whole = !context.has(1);
  Dims dims = gate.dims();
  TensorRef up = gate;
  if (is_whole) {
    dims.back() = floor_div(dims.back(), Dim(2));
    context.check(context.equal(dims.back() * 2, gate.dims().back()), "the gate has no two halves");
  } else {
    up = shaped_operand(b, context, 1, dims, "up");
  }
  const double alpha = context.real("activation_alpha", 1), beta = context.real("activation_beta", 0);
  const double limit = context.real("limit", 0);
  const bool rounds = flag(context, "round_activation", false);
  b.output(b.map(dims, [&](const Indices& i) {
    Indices second = i;
    if (is_whole) second.back() = i.back() + dims.back();
    Scalar g = widen(gate(i)), u = widen(up(second));
    if (limit > 0) {
      g = min(g, limit);
      u = min(max(u, -limit), limit);
    }
    Scalar active = g * sigmoid(g * alpha);
    if (rounds) active = widen(rounded(gate.type(), active));
    return cast(gate.type(), active * (u + beta));
  }));
}

}  // namespace

void microsoft_gated_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "BranchwiseRMSNorm", 1, branchwise_rms_norm},
                             {microsoft_domain, "CausalConvWithState", 1, causal_convolution},
                             {microsoft_domain, "GatedAdd", 1, gated_add},
                             {microsoft_domain, "GatedRMSNorm", 1, gated_rms_norm},
                             {microsoft_domain, "LinearAttention", 1, linear_attention},
                             {microsoft_domain, "LinearAttentionGate", 1, linear_attention_gate},
                             {microsoft_domain, "SwiGLU", 1, swiglu}});
}

}  // namespace axrun::ir
