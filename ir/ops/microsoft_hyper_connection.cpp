// com.microsoft: residual streams side by side (hyper-connections), which are mixed before and after a block,
// and Engram's gate on what is looked up for them. All arithmetic is in f32 and rounded once.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// 1 / sqrt(mean of squares + epsilon) over the last one of `dims`.
TensorRef inverse_norms(Builder& b, const Dims& dims, double epsilon, const Builder::MapBody& value) {
  const Dims rows = part(dims, 0, dims.size() - 1);
  const TensorRef squares = b.sum(rows, {dims.back()}, [&](const Indices& i, const Indices& r) {
    const Scalar x = value(joined(i, r));
    return x * x;
  });
  return b.map(rows, [&](const Indices& i) {
    return 1.0 / sqrt(squares(i) / count_of(b, squares.type(), {dims.back()}) + epsilon);
  });
}

/// sigmoid(sign(d) sqrt(max(|d|, 1e-6))) value, where d is the product of the key and the query of each
/// stream, both normalised, over sqrt(size). Inputs: key, query [batch, length, streams, size], value [batch,
/// length, size], the scales of the norms of key, query and result.
void engram_gate(const OperatorContext& context, Builder& b) {
  const TensorRef key = real_operand(b, context, 0);
  require_rank(context, 0, 4);
  const Dims& dims = key.dims();
  for (int k = 1; k < context.inputs(); ++k) {
    context.check(!context.has(k) || context.type(k) == key.type(), "the inputs must have one type");
  }
  const Dims scale_dims = {dims[2], dims[3]};
  const TensorRef query = shaped_operand(b, context, 1, dims, "query");
  const TensorRef value = shaped_operand(b, context, 2, {dims[0], dims[1], dims[3]}, "value");
  const TensorRef key_scale = shaped_operand(b, context, 3, scale_dims, "key_norm_scale");
  const TensorRef query_scale = shaped_operand(b, context, 4, scale_dims, "query_norm_scale");
  TensorRef result_scale;
  if (context.has(5)) result_scale = shaped_operand(b, context, 5, scale_dims, "conv_norm_scale");
  const double epsilon = context.real("epsilon", 1e-5F);

  const Dims rows = part(dims, 0, 3);
  const TensorRef of_key = inverse_norms(b, dims, epsilon, [&](const Indices& i) { return widen(key(i)); });
  const TensorRef of_query =
      inverse_norms(b, dims, epsilon, [&](const Indices& i) { return widen(query(i)); });
  const TensorRef product = b.sum(rows, {dims[3]}, [&](const Indices& i, const Indices& r) {
    const Indices at = joined(i, r), of_scale = {i[2], r[0]};
    return (widen(key(at)) * of_key(i) * widen(key_scale(of_scale))) *
           (widen(query(at)) * of_query(i) * widen(query_scale(of_scale)));
  });
  const TensorRef gate = b.map(rows, [&](const Indices& i) {
    const Scalar d = product(i) / sqrt(count_of(b, product.type(), {dims[3]}));
    const Scalar size = sqrt(max(abs(d), 1e-6));
    return sigmoid(select(d == 0.0, d, select(d < 0.0, -size, size)));
  });
  const auto gated = [&](const Indices& i) { return gate(part(i, 0, 3)) * widen(value({i[0], i[1], i[3]})); };
  b.output(b.map(dims, [&](const Indices& i) { return cast(key.type(), gated(i)); }));
  if (!context.wants(1)) return;
  context.check(result_scale.defined(), "gated_value_normed is wanted, but there is no conv_norm_scale");
  const TensorRef of_result = inverse_norms(b, dims, epsilon, gated);
  b.output(b.map(dims, [&](const Indices& i) {
    const Scalar scale = widen(result_scale({i[2], i[3]}));
    return cast(key.type(), gated(i) * of_result(part(i, 0, 3)) * scale);
  }));
}

/// Input 0: streams (..., C, H), or (..., C * H) where num_branches is C.
struct Streams {
  TensorRef tensor;
  Dims outer;  ///< before C and H
  Dim count;
  Dim size;
  bool flat = false;

  /// i: the outer dimensions, the stream, the feature.
  Scalar operator()(const Indices& i) const {
    if (!flat) return widen(tensor(i));
    const Scalar place = i[outer.size()] * size + i.back();
    return widen(tensor(joined(part(i, 0, outer.size()), {place})));
  }
};

Streams read_streams(const OperatorContext& context, Builder& b) {
  Streams s;
  s.tensor = typed_operand(b, context, 0, {f32, f16, bf16});
  const Dims& dims = s.tensor.dims();
  const int64_t branches = bounded_integer(context, "num_branches", 0, 0, int64_t{1} << 30);
  s.flat = branches > 0;
  const size_t own = s.flat ? 1 : 2;
  context.check(dims.size() >= own, fmt::format("streams of shape {}", to_string(dims)));
  s.outer = part(dims, 0, dims.size() - own);
  s.count = s.flat ? Dim(branches) : dims[dims.size() - 2];
  s.size = s.flat ? floor_div(dims.back(), s.count) : dims.back();
  context.check(!s.flat || context.equal(s.size * s.count, dims.back()),
                fmt::format("{} branches do not divide {}", branches, to_string(dims)));
  for (const Dim& dim : {s.count, s.size}) {
    context.check(context.may_be_at_least(dim, 1), fmt::format("streams of shape {}", to_string(dims)));
  }
  return s;
}

/// What a stream or a feature of it is multiplied by: input k of shape (..., C), (..., C, 1) or (..., C, H);
/// with `flattens` also (..., C * H) for flat streams.
struct StreamGate {
  enum class Layout : uint8_t { streams, columns, features, flat };
  TensorRef tensor;
  Layout layout = Layout::streams;

  Scalar at(const Streams& streams, const Indices& i) const {
    const size_t outer = streams.outer.size();
    Indices at = part(i, 0, outer + 1);
    if (layout == Layout::columns) at.push_back(i[0].builder().integer(0));
    if (layout == Layout::features) at.push_back(i.back());
    if (layout == Layout::flat) at.back() = at.back() * streams.size + i.back();
    return widen(tensor(at));
  }
};

StreamGate read_gate(const OperatorContext& context, Builder& b, int k, const Streams& streams,
                     bool flattens) {
  using Layout = StreamGate::Layout;
  StreamGate gate;
  gate.tensor = typed_operand(b, context, k, {f32, f16, bf16});
  const Dims& dims = gate.tensor.dims();
  const size_t outer = streams.outer.size();
  const std::string what = fmt::format("input {}", k);
  if (dims.size() == outer + 1) {
    const bool is_flat = flattens && streams.flat && !context.equal(dims.back(), streams.count);
    gate.layout = is_flat ? Layout::flat : Layout::streams;
    const Dim size = is_flat ? streams.count * streams.size : streams.count;
    check_dims(context, gate.tensor, joined(streams.outer, {size}), what);
    return gate;
  }
  context.check(dims.size() == outer + 2, fmt::format("{} of shape {}", what, to_string(dims)));
  const bool is_column = dims.back() != streams.size && context.is_one(dims.back());
  gate.layout = is_column ? Layout::columns : Layout::features;
  check_dims(context, gate.tensor, joined(streams.outer, {streams.count, is_column ? Dim(1) : streams.size}),
             what);
  return gate;
}

/// reduction_scale times the sum of all streams, each times its gate. Inputs: streams, pre_mix.
void hyper_connection_pre_mix(const OperatorContext& context, Builder& b) {
  const Streams streams = read_streams(context, b);
  const StreamGate gate = read_gate(context, b, 1, streams, true);
  const double scale = context.real("reduction_scale", 1);
  const Dims dims = joined(streams.outer, {streams.size});
  const TensorRef sum = b.sum(dims, {streams.count}, [&](const Indices& i, const Indices& r) {
    const Indices at = joined(part(i, 0, i.size() - 1), {r[0], i.back()});
    return streams(at) * gate.at(streams, at);
  });
  b.output(b.map(dims, [&](const Indices& i) { return cast(streams.tensor.type(), sum(i) * scale); }));
}

/// Streams mixed with each other by stream_mix, and the block's output added to each through its gate.
/// Inputs: streams, block_output, post_mix, stream_mix [..., from, to].
void hyper_connection_post_mix(const OperatorContext& context, Builder& b) {
  const Streams streams = read_streams(context, b);
  const ElementType type = streams.tensor.type();
  const TensorRef block =
      shaped_operand(b, context, 1, joined(streams.outer, {streams.size}), "block_output");
  context.check(block.type() == type, "block_output must have the type of the streams");
  const StreamGate gate = read_gate(context, b, 2, streams, false);
  const size_t outer = streams.outer.size();
  const Dims apart = joined(streams.outer, {streams.count, streams.size});
  TensorRef mixed;
  if (context.has(3)) {
    const TensorRef mix = typed_operand(b, context, 3, {f32, f16, bf16});
    context.check(mix.type() == gate.tensor.type(), "post_mix and stream_mix must have one type");
    check_dims(context, mix, joined(streams.outer, {streams.count, streams.count}), "stream_mix");
    mixed = b.sum(apart, {streams.count}, [&](const Indices& i, const Indices& r) {
      const Indices rows = part(i, 0, outer);
      return widen(mix(joined(rows, {r[0], i[outer]}))) * streams(joined(rows, {r[0], i.back()}));
    });
  }
  std::vector<std::vector<int>> merged;
  for (size_t d = 0; d < apart.size(); ++d) merged.push_back({static_cast<int>(d)});
  if (streams.flat) {
    merged[outer].push_back(static_cast<int>(outer) + 1);
    merged.pop_back();
  }
  b.output(b.map_grouped(apart, merged, [&](const Indices& i) {
    const Scalar own = mixed.defined() ? mixed(i) : streams(i);
    const Scalar added = widen(block(joined(part(i, 0, outer), {i.back()})));
    return cast(type, own + gate.at(streams, i) * added);
  }));
}

}  // namespace

void microsoft_hyper_connection_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "EngramGate", 1, engram_gate},
                             {microsoft_domain, "HyperConnectionPostMix", 1, hyper_connection_post_mix},
                             {microsoft_domain, "HyperConnectionPreMix", 1, hyper_connection_pre_mix}});
}

}  // namespace axrun::ir
