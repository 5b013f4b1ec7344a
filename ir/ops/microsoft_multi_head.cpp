// com.microsoft: MultiHeadAttention.
#include <fmt/format.h>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"

namespace axrun::ir {
namespace {

/// Queries, keys or values of all heads in one of the layouts they come in.
struct HeadInput {
  enum class Layout : uint8_t {
    rows,    ///< (batch, position, heads * size)
    packed,  ///< (batch, position, heads, parts, size)
    states,  ///< (batch, heads, position, size)
  };
  TensorRef x;
  Layout layout = Layout::rows;
  int64_t part = 0;
  Dim size;
  TensorRef bias;  ///< undefined, or a vector whose entries from `first` on belong to the columns
  Dim first;

  /// At (batch, head, position, component).
  Scalar at(const Indices& i) const {
    const Scalar column = i[1] * size + i[3];
    Scalar value;
    switch (layout) {
      case Layout::rows:
        value = x({i[0], i[2], column});
        break;
      case Layout::packed:
        value = x({i[0], i[2], i[1], column.builder().integer(part), i[3]});
        break;
      case Layout::states:
        value = x(i);
        break;
    }
    value = widen(value);
    return bias.defined() ? value + cast(value.type(), bias({column + first})) : value;
  }
};

struct HeadInputs {
  HeadInput query;
  HeadInput key;
  HeadInput value;
  AttentionShape shape;  ///< keys: of the inputs alone, without past states
};

/// All in the query, (B, S, heads, 3, size); or key and value in the key, (B, L, heads, 2, size); or three
/// inputs, key and value being rows (B, L, D) or states (B, heads, L, size).
HeadInputs read_layout(const OperatorContext& context, Builder& b, const Dim& heads) {
  using Layout = HeadInput::Layout;
  HeadInputs in;
  AttentionShape& shape = in.shape;
  const TensorRef query = real_operand(b, context, 0);
  const auto& dims = query.dims();
  context.check(dims.size() == 3 || dims.size() == 5, fmt::format("a query of shape {}", to_string(dims)));
  shape.batch = dims[0];
  shape.queries = dims[1];
  shape.heads = heads;
  in.query.x = query;
  if (dims.size() == 5) {
    context.check(!context.has(1) && !context.has(2), "a packed query takes neither key nor value");
    check_dims(context, query, {dims[0], dims[1], heads, Dim(3), dims[4]}, "the query");
    shape.keys = shape.queries;
    shape.key_size = shape.value_size = dims[4];
    in.query.layout = Layout::packed;
    in.key = in.value = in.query;
    in.key.part = 1;
    in.value.part = 2;
    return in;
  }
  shape.key_size = divided(context, dims[2], heads, "hidden size");
  context.check(context.has(1), "a key is needed unless the query is packed");
  const TensorRef key = real_operand(b, context, 1);
  in.key.x = key;
  if (key.rank() == 5) {
    context.check(!context.has(2), "a packed key takes no value");
    check_dims(context, key, {shape.batch, key.dims()[1], heads, Dim(2), shape.key_size}, "the key");
    shape.keys = key.dims()[1];
    shape.value_size = shape.key_size;
    in.key.layout = Layout::packed;
    in.value = in.key;
    in.value.part = 1;
    return in;
  }
  const TensorRef value = real_operand(b, context, 2);
  in.value.x = value;
  context.check((key.rank() == 3 || key.rank() == 4) && value.rank() == key.rank(),
                fmt::format("a key of shape {} and a value of shape {}", to_string(key.dims()),
                            to_string(value.dims())));
  if (key.rank() == 3) {
    shape.keys = key.dims()[1];
    shape.value_size = divided(context, value.dims()[2], heads, "hidden size of the value");
    check_dims(context, key, {shape.batch, shape.keys, dims[2]}, "the key");
    check_dims(context, value, {shape.batch, shape.keys, value.dims()[2]}, "the value");
  } else {
    in.key.layout = in.value.layout = Layout::states;
    shape.keys = key.dims()[2];
    shape.value_size = value.dims()[3];
    check_dims(context, key, {shape.batch, heads, shape.keys, shape.key_size}, "the key");
    check_dims(context, value, {shape.batch, heads, shape.keys, shape.value_size}, "the value");
  }
  return in;
}

/// The bias (D + D + D_v) is that of the projections before: keys and values given as states have it already.
void read_bias(const OperatorContext& context, Builder& b, HeadInputs& in) {
  in.query.size = in.key.size = in.shape.key_size;
  in.value.size = in.shape.value_size;
  if (!context.has(3)) return;
  const Dim hidden = in.shape.heads * in.shape.key_size;
  const Dim value_hidden = in.shape.heads * in.shape.value_size;
  const TensorRef bias = real_operand(b, context, 3);
  check_dims(context, bias, {hidden * 2 + value_hidden}, "the bias");
  in.query.bias = bias;
  if (in.key.layout == HeadInput::Layout::states) return;
  in.key.bias = in.value.bias = bias;
  in.key.first = hidden;
  in.value.first = hidden * 2;
}

TensorRef past_states(const OperatorContext& context, Builder& b, int k, const AttentionShape& shape,
                      const Dim& size) {
  const TensorRef past = real_operand(b, context, k);
  context.check(past.rank() == 4, fmt::format("past states of shape {}", to_string(past.dims())));
  check_dims(context, past, {shape.batch, shape.heads, past.dims()[2], size}, "the past states");
  return past;
}

void multi_head_attention(const OperatorContext& context, Builder& b) {
  const Dim heads = head_count(context, "num_heads");
  HeadInputs in = read_layout(context, b, heads);
  read_bias(context, b, in);
  if (context.has(8) || context.has(9))
    context.unsupported("past states that share a buffer with the present ones");
  const ElementType type = in.query.x.type();

  AttentionShape shape = in.shape;
  TensorRef past_key;
  TensorRef past_value;
  Dim past_length = 0;
  context.check(context.has(6) == context.has(7), "past_key and past_value go together");
  if (context.has(6)) {
    context.check(in.key.layout != HeadInput::Layout::states, "past states and keys given as states");
    past_key = past_states(context, b, 6, shape, shape.key_size);
    past_value = past_states(context, b, 7, shape, shape.value_size);
    past_length = past_key.dims()[2];
    context.check(context.equal(past_length, past_value.dims()[2]),
                  "past_key and past_value differ in length");
    shape.keys = past_length + in.shape.keys;
  }
  LogitTerms logits(context, b, shape, past_length);
  logits.read_mask(4);
  logits.read_bias(5);

  AttentionTerms terms;
  terms.query = [&](const Indices& i) { return in.query.at(i); };
  terms.key = [&](const Indices& i) { return in.key.at(i); };
  terms.value = [&](const Indices& i) { return in.value.at(i); };
  TensorRef keys;
  TensorRef values;
  if (past_key.defined() || context.outputs() > 1) {
    const AttentionShape& own = in.shape;
    keys = joined_states(b, past_key, {own.batch, heads, own.keys, own.key_size}, type, terms.key);
    values = joined_states(b, past_value, {own.batch, heads, own.keys, own.value_size}, type, terms.value);
    terms.key = [&](const Indices& i) { return widen(keys(i)); };
    terms.value = [&](const Indices& i) { return widen(values(i)); };
  }
  terms.scale = attention_scale(context, b, compute_type(type), shape.key_size);
  terms.logit = [&](const Indices& i, const Scalar& product) { return logits.apply(i, product); };
  const AttentionResult result = attention(b, shape, terms);
  b.output(converted(b, result.output, type));
  if (context.outputs() < 2) return;
  b.output(keys);
  b.output(values);
  if (context.wants(3)) b.output(converted(b, result.logits, type));
}

}  // namespace

void multi_head_attention_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "MultiHeadAttention", 1, multi_head_attention});
}

}  // namespace axrun::ir
