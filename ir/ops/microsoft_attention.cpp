// com.microsoft: Attention.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Self-attention with its projection: query, key and value are columns of input * weights + bias.
void attention_operator(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const TensorRef weights = real_operand(b, context, 1);
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
  if (context.has(4)) {
    past = real_operand(b, context, 4);
    context.check(past.rank() == 5, fmt::format("past of shape {}", to_string(past.dims())));
    past_length = past.dims()[3];
    check_dims(context, past, {Dim(2), shape.batch, heads, past_length, shape.key_size}, "past");
    context.check(context.equal(shape.key_size, shape.value_size), "past needs keys and values of one size");
  }
  shape.keys = past_length + shape.queries;
  LogitTerms logits(context, b, shape, past_length);
  logits.read_mask(3);
  logits.read_bias(5);

  const TensorRef products =
      b.sum({shape.batch, shape.queries, columns}, {x.dims()[2]}, [&](const Indices& i, const Indices& r) {
        return widen(x({i[0], i[1], r[0]})) * widen(weights({r[0], i[2]}));
      });
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
      return cast(x.type(), select(i[0] == 0, key(at), value(at)));
    });
    Dims dims = added;
    dims[3] = shape.keys;
    states = !past.defined() ? fresh : b.map(dims, [&](const Indices& i) {
      const Scalar old = i[3] < past_length;
      const Scalar zero = b.literal(x.type(), 0);
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
  b.output(converted(b, attention(b, shape, terms).output, x.type()));
  if (context.wants(1)) b.output(states);
}

}  // namespace

void microsoft_attention_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "Attention", 1, attention_operator});
  multi_head_attention_operators(table);
}

}  // namespace axrun::ir
