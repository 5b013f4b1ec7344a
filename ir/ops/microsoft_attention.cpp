// com.microsoft: Attention and QAttention.
#include <fmt/format.h>

#include <functional>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"
#include "ir/ops/microsoft_quantized_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Where the inputs are, and what differs between plain and quantised projections.
struct Projection {
  TensorRef x;
  TensorRef weights;
  ElementType type;  ///< of bias, states and result
  int mask_input;
  int past_input;
  int bias_input;  ///< what is added to the scores; -1: there is none
  /// (input * weights) at (batch, position, column), of a compute type.
  std::function<TensorRef(const Dims&)> products;
};

/// Self-attention with its projection: query, key and value are columns of input * weights + bias.
void self_attention(const OperatorContext& context, Builder& b, const Projection& projection) {
  const TensorRef& x = projection.x;
  const TensorRef& weights = projection.weights;
  const ElementType type = projection.type;
  context.check(x.rank() == 3, fmt::format("an input of shape {}", to_string(x.dims())));
  const Dim heads = head_count(context, "num_heads");
  if (flag(context, "do_rotary", false)) context.unsupported("attribute 'do_rotary'");
  if (flag(context, "past_present_share_buffer", false))
    context.unsupported("attribute 'past_present_share_buffer'");

  context.check(weights.rank() == 2 && context.equal(weights.dims()[0], x.dims()[2]),
                fmt::format("weights of shape {} for an input of shape {}", to_string(weights.dims()),
                            to_string(x.dims())));
  const Dim& columns = weights.dims()[1];
  const auto sizes = context.integers("qkv_hidden_sizes");
  Dim hidden;
  Dim value_hidden;
  if (sizes.empty()) {
    hidden = value_hidden = divided(context, columns, Dim(3), "the number of columns");
  } else {
    context.check(sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] > 0 && sizes[2] > 0,
                  "qkv_hidden_sizes must be D, D and D_v");
    hidden = Dim(sizes[0]);
    value_hidden = Dim(sizes[2]);
    context.check(context.equal(hidden * 2 + value_hidden, columns),
                  "qkv_hidden_sizes do not add up to the columns");
  }
  AttentionShape shape;
  shape.batch = x.dims()[0];
  shape.heads = heads;
  shape.queries = x.dims()[1];
  shape.key_size = divided(context, hidden, heads, "hidden size");
  shape.value_size = divided(context, value_hidden, heads, "hidden size");

  TensorRef past;
  Dim past_length = 0;
  if (context.has(projection.past_input)) {
    past = typed_operand(b, context, projection.past_input, {type});
    context.check(past.rank() == 5, fmt::format("past of shape {}", to_string(past.dims())));
    past_length = past.dims()[3];
    check_dims(context, past, {Dim(2), shape.batch, heads, past_length, shape.key_size}, "past");
    context.check(context.equal(shape.key_size, shape.value_size), "past needs keys and values of one size");
  }
  shape.keys = past_length + shape.queries;
  LogitTerms logits(context, b, shape, past_length);
  logits.read_mask(projection.mask_input);
  if (projection.bias_input >= 0) logits.read_bias(projection.bias_input);

  const TensorRef products = projection.products({shape.batch, shape.queries, columns});
  TensorRef bias;
  if (context.has(2)) bias = shaped_operand(b, context, 2, {columns}, "the bias");
  const auto projected = [&](const Dim& first, const Dim& head_size) {
    return [&, first, head_size](const Indices& i) {  // (batch, head, position, component)
      const Scalar column = i[1] * head_size + i[3] + first;
      const Scalar value = products({i[0], i[2], column});
      return bias.defined() ? value + cast(value.type(), bias({column})) : value;
    };
  };
  const auto key = projected(hidden, shape.key_size);
  const auto value = projected(hidden * 2, shape.value_size);

  TensorRef states;  // keys, then values: [2, B, heads, T, size]
  if (past.defined() || context.wants(1)) {
    const Dims added = {Dim(2), shape.batch, heads, shape.queries, shape.key_size};
    const TensorRef fresh = b.map(added, [&](const Indices& i) {
      const Indices at = part(i, 1, 5);
      return cast(type, select(i[0] == 0, key(at), value(at)));
    });
    Dims dims = added;
    dims[3] = shape.keys;
    states = !past.defined() ? fresh : b.map(dims, [&](const Indices& i) {
      const Scalar old = i[3] < past_length;
      const Scalar zero = b.literal(type, 0);
      const Scalar recent = fresh.guarded({i[0], i[1], i[2], i[3] - past_length, i[4]}, !old, zero);
      return select(old, past.guarded(i, old, zero), recent);
    });
    context.check(context.equal(shape.key_size, shape.value_size),
                  "present needs keys and values of one size");
  }
  AttentionTerms terms;
  terms.query = projected(Dim(0), shape.key_size);
  terms.key = key;
  terms.value = value;
  if (states.defined()) {
    terms.key = [&](const Indices& i) { return widen(states(joined({b.integer(0)}, i))); };
    terms.value = [&](const Indices& i) { return widen(states(joined({b.integer(1)}, i))); };
  }
  terms.scale = attention_scale(context, b, products.type(), shape.key_size);
  terms.logit = [&](const Indices& i, const Scalar& product) { return logits.apply(i, product); };
  b.output(converted(b, attention(b, shape, terms).output, type));
  if (context.wants(1)) b.output(states);
}

/// Inputs: x, weights, bias, mask, past, attention bias.
void attention_operator(const OperatorContext& context, Builder& b) {
  Projection p{real_operand(b, context, 0), real_operand(b, context, 1), context.type(0), 3, 4, 5, {}};
  p.products = [&](const Dims& dims) {
    return b.sum(dims, {p.x.dims()[2]}, [&](const Indices& i, const Indices& r) {
      return widen(p.x({i[0], i[1], r[0]})) * widen(p.weights({r[0], i[2]}));
    });
  };
  self_attention(context, b, p);
}

/// The projection is exact in i32 and scaled. Inputs: x, weights, bias, scales of x and of the weights, mask,
/// zero points of x and of the weights, past; what belongs to the weights is for all of them or per column.
void quantized_attention_operator(const OperatorContext& context, Builder& b) {
  using quantized_parts::column_parameter;
  Projection p{quantized_parts::byte_operand(context, b, 0),
               quantized_parts::byte_operand(context, b, 1),
               context.type(2),
               5,
               8,
               -1,
               {}};
  context.check(is_real_type(p.type), "the bias must be of a float type");
  const TensorRef x_scale = typed_operand(b, context, 3, {p.type});
  const TensorRef w_scale = typed_operand(b, context, 4, {p.type});
  TensorRef x_zero;
  TensorRef w_zero;
  if (context.has(6)) x_zero = typed_operand(b, context, 6, {p.x.type()});
  if (context.has(7)) w_zero = typed_operand(b, context, 7, {p.weights.type()});
  p.products = [&](const Dims& dims) {
    const Dim& columns = dims[2];
    const TensorRef sum = b.sum(dims, {p.x.dims()[2]}, [&](const Indices& i, const Indices& r) {
      const Scalar zero =
          x_zero.defined() ? only_element(context, b, x_zero, "a zero point") : b.integer(0, p.x.type());
      const Scalar column_zero = w_zero.defined()
                                     ? column_parameter(context, b, w_zero, columns, i[2], "a zero point")
                                     : b.integer(0, p.weights.type());
      return centered(p.x({i[0], i[1], r[0]}), zero) * centered(p.weights({r[0], i[2]}), column_zero);
    });
    return b.map(dims, [&](const Indices& i) {
      const Scalar scale = widen(only_element(context, b, x_scale, "a scale")) *
                           widen(column_parameter(context, b, w_scale, columns, i[2], "a scale"));
      return cast(scale.type(), sum(i)) * scale;
    });
  };
  self_attention(context, b, p);
}

}  // namespace

void microsoft_attention_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "Attention", 1, attention_operator});
  table.push_back({microsoft_domain, "QAttention", 1, quantized_attention_operator});
  multi_head_attention_operators(table);
}

}  // namespace axrun::ir
