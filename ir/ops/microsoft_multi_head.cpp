// com.microsoft: MultiHeadAttention, and DecoderMaskedMultiHeadAttention for one query at a time.
#include <fmt/format.h>

#include <optional>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Queries, keys or values of all heads in one of the layouts they come in.
struct HeadInput {
  enum class Layout : uint8_t {
    rows,    ///< (batch, position, heads * size), from column `column` on
    packed,  ///< (batch, position, heads, parts, size)
    states,  ///< (batch, heads, position, size)
  };
  TensorRef x;
  Layout layout = Layout::rows;
  int64_t part = 0;
  Dim column = 0;
  Dim size;
  TensorRef bias;  ///< undefined, or a vector whose entries from `first` on belong to the columns
  Dim first;

  /// At (batch, head, position, component).
  Scalar at(const Indices& i) const {
    const Scalar place = i[1] * size + i[3];
    Scalar value;
    switch (layout) {
      case Layout::rows:
        value = x({i[0], i[2], place + column});
        break;
      case Layout::packed:
        value = x({i[0], i[2], i[1], place.builder().integer(part), i[3]});
        break;
      case Layout::states:
        value = x(i);
        break;
    }
    value = widen(value);
    return bias.defined() ? value + cast(value.type(), bias({place + first})) : value;
  }
};

struct HeadInputs {
  HeadInput query;
  HeadInput key;
  HeadInput value;
  AttentionShape shape;  ///< keys: of the inputs alone, without past states
};

/// Where the operators have their inputs, of which query, key and value come first.
struct InputPlaces {
  int bias;
  int mask;
  int attention_bias;
  int past_key;
  int past_value;
  int past_length;
  int indirection;
};

/// Key and value beside the query, of one hidden size, without past states: `dims` are the query's.
void read_separate_key(const OperatorContext& context, Builder& b, HeadInputs& in, const Dims& dims) {
  AttentionShape& shape = in.shape;
  const ElementType type = in.query.x.type();
  const TensorRef key = typed_operand(b, context, 1, {type});
  in.key.x = key;
  const TensorRef value = typed_operand(b, context, 2, {type});
  in.value.x = value;
  context.check((key.rank() == 3 || key.rank() == 4) && value.rank() == key.rank(),
                fmt::format("a key of shape {} and a value of shape {}", to_string(key.dims()),
                            to_string(value.dims())));
  if (key.rank() == 3) {
    shape.keys = key.dims()[1];
    shape.value_size = divided(context, value.dims()[2], shape.heads, "hidden size of the value");
    check_dims(context, key, {shape.batch, shape.keys, dims[2]}, "the key");
    check_dims(context, value, {shape.batch, shape.keys, value.dims()[2]}, "the value");
  } else {
    in.key.layout = in.value.layout = HeadInput::Layout::states;
    shape.keys = key.dims()[2];
    shape.value_size = value.dims()[3];
    check_dims(context, key, {shape.batch, shape.heads, shape.keys, shape.key_size}, "the key");
    check_dims(context, value, {shape.batch, shape.heads, shape.keys, shape.value_size}, "the value");
  }
}

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
  if (context.rank(1) == 5) {
    const TensorRef key = typed_operand(b, context, 1, {query.type()});
    in.key.x = key;
    context.check(!context.has(2), "a packed key takes no value");
    check_dims(context, key, {shape.batch, key.dims()[1], heads, Dim(2), shape.key_size}, "the key");
    shape.keys = key.dims()[1];
    shape.value_size = shape.key_size;
    in.key.layout = Layout::packed;
    in.value = in.key;
    in.value.part = 1;
    return in;
  }
  read_separate_key(context, b, in, dims);
  return in;
}

/// Of one position: three inputs, or query, key and value of one hidden size side by side in the query, (B,
/// 1, 3 D).
HeadInputs read_decoder_layout(const OperatorContext& context, Builder& b, const Dim& heads) {
  HeadInputs in;
  AttentionShape& shape = in.shape;
  const TensorRef query = real_operand(b, context, 0);
  const auto& dims = query.dims();
  context.check(dims.size() == 3 && context.is_one(dims[1]),
                fmt::format("a query of shape {}", to_string(dims)));
  shape.batch = dims[0];
  shape.queries = dims[1];
  shape.heads = heads;
  in.query.x = query;
  if (context.has(1)) {
    shape.key_size = divided(context, dims[2], heads, "hidden size");
    read_separate_key(context, b, in, dims);
    return in;
  }
  context.check(!context.has(2), "a packed query takes no value");
  const Dim hidden = divided(context, dims[2], Dim(3), "the width of a packed query");
  shape.key_size = shape.value_size = divided(context, hidden, heads, "hidden size");
  shape.keys = dims[1];
  in.key = in.value = in.query;
  in.key.column = hidden;
  in.value.column = hidden * 2;
  return in;
}

/// The bias (D + D + D_v) is that of the projections before: keys and values given as states have it already.
void read_bias(const OperatorContext& context, Builder& b, HeadInputs& in, int k) {
  in.query.size = in.key.size = in.shape.key_size;
  in.value.size = in.shape.value_size;
  if (!context.has(k)) return;
  const Dim hidden = in.shape.heads * in.shape.key_size;
  const Dim value_hidden = in.shape.heads * in.shape.value_size;
  const TensorRef bias = real_operand(b, context, k);
  check_dims(context, bias, {hidden * 2 + value_hidden}, "the bias");
  in.query.bias = bias;
  if (in.key.layout == HeadInput::Layout::states) return;
  in.key.bias = in.value.bias = bias;
  in.key.first = hidden;
  in.value.first = hidden * 2;
}

TensorRef past_states(const OperatorContext& context, Builder& b, int k, const AttentionShape& shape,
                      const Dim& size, ElementType type) {
  const TensorRef past = typed_operand(b, context, k, {type});
  context.check(past.rank() == 4, fmt::format("past states of shape {}", to_string(past.dims())));
  check_dims(context, past, {shape.batch, shape.heads, past.dims()[2], size}, "the past states");
  return past;
}

/// Past and new states in one buffer of (B, heads, places, size), which new ones are written into. Nothing
/// that is read is at a place that depends on data, so that kernels can be generated, unless there are beams.
class StateBuffer {
 public:
  /// Sequences of a beam search share what they have in common: token t of beam j of batch i was made by beam
  /// indirection[i, j, t].
  StateBuffer(const OperatorContext& context, Builder& b, const AttentionShape& shape, const Dim& places,
              const InputPlaces& inputs)
      : context_(context), b_(b), queries_(shape.queries), places_(places) {
    length_ = typed_operand(b, context, inputs.past_length, {ElementType::i32});
    only_element(context, b, length_, "past_sequence_length");
    if (const Tensor* known = context.operand(inputs.past_length).constant) {
      context.check(known->get_int(0) >= 0 && !context.less(places, queries_ + known->get_int(0)),
                    fmt::format("{} past states and {} new ones in a buffer of {}", known->get_int(0),
                                queries_.to_string(), places.to_string()));
      check_columns(context, inputs.mask, queries_ + known->get_int(0));
      check_columns(context, inputs.attention_bias, queries_ + known->get_int(0));
    }
    if (!context.has(inputs.indirection)) return;
    indirection_ = typed_operand(b, context, inputs.indirection, {ElementType::i32});
    context.check(indirection_.rank() == 3,
                  fmt::format("cache_indirection of shape {}", to_string(indirection_.dims())));
    context.check(context.equal(indirection_.dims()[0] * indirection_.dims()[1], shape.batch),
                  "cache_indirection has other beams than the states");
  }

  /// How many states there were before the queries'. Where they do not fit into the buffer there are no
  /// states at all, and the result is NaN.
  Scalar past() const {
    const Indices first(length_.dims().size(), b_.integer(0));
    const Scalar given = cast(ElementType::i64, length_(first));
    const Scalar fits = logical_and(given >= 0, given <= places_ - queries_);
    return select(fits, given, b_.extent(Dim(0) - queries_));
  }
  TensorRef written(const TensorRef& buffer, const Dims& added_dims, const Builder::MapBody& added) const {
    const TensorRef fresh =
        b_.map(added_dims, [&](const Indices& i) { return cast(buffer.type(), added(i)); });
    return b_.map(buffer.dims(), [&](const Indices& i) {
      const Scalar place = i[2] - past();
      const Scalar is_new = logical_and(place >= 0, place < queries_);
      if (context_.is(queries_, 1))
        return select(is_new, fresh({i[0], i[1], b_.integer(0), i[3]}), buffer(i));
      return fresh.guarded({i[0], i[1], place, i[3]}, is_new, buffer(i));
    });
  }
  /// The state of that sequence, zero beyond its end: the buffer may hold anything there.
  Scalar at(const TensorRef& states, const Indices& i) const {
    const Scalar exists = i[2] < past() + queries_;
    return select(exists, states({row(i), i[1], i[2], i[3]}), b_.literal(states.type(), 0));
  }

 private:
  Scalar row(const Indices& i) const {
    if (!indirection_.defined()) return i[0];
    const Dim& beams = indirection_.dims()[1];
    const Scalar batch = floor_div(i[0], beams), beam = floor_mod(i[0], beams);
    const Scalar is_old = i[2] < past();
    const Scalar maker = indirection_.guarded({batch, beam, i[2]}, is_old, b_.literal(ElementType::i32, 0));
    return select(is_old, batch * beams + cast(ElementType::i64, maker), i[0]);
  }

  static void check_columns(const OperatorContext& context, int k, const Dim& keys) {
    if (!context.has(k) || context.rank(k) < 2) return;
    const Dim& columns = context.dims(k).back();
    context.check(
        context.is(columns, 1) || !context.less(columns, keys),
        fmt::format("input {} has {} columns for {} keys", k, columns.to_string(), keys.to_string()));
  }

  const OperatorContext& context_;
  Builder& b_;
  Dim queries_, places_;
  TensorRef length_, indirection_;
};

/// Attention to the states before and those of the inputs.
void attend(const OperatorContext& context, Builder& b, HeadInputs& in, const InputPlaces& places,
            bool shares_buffer) {
  read_bias(context, b, in, places.bias);
  const ElementType type = in.query.x.type();
  const AttentionShape& own = in.shape;
  AttentionShape shape = own;
  TensorRef past_key, past_value;
  Dim past_length = 0;
  context.check(context.has(places.past_key) == context.has(places.past_value),
                "past_key and past_value go together");
  if (context.has(places.past_key)) {
    context.check(in.key.layout != HeadInput::Layout::states, "past states and keys given as states");
    past_key = past_states(context, b, places.past_key, shape, shape.key_size, type);
    past_value = past_states(context, b, places.past_value, shape, shape.value_size, type);
    past_length = past_key.dims()[2];
    context.check(context.equal(past_length, past_value.dims()[2]),
                  "past_key and past_value differ in length");
    shape.keys = shares_buffer ? past_length : past_length + own.keys;
  }
  std::optional<StateBuffer> buffer;
  if (shares_buffer) {
    context.check(past_key.defined(), "there are no past states to share a buffer");
    // A query for each new state: the last query is at the end of the sequence.
    context.check(context.equal(own.queries, own.keys), "queries and new states differ in number");
    buffer.emplace(context, b, own, shape.keys, places);
  }
  LogitTerms logits = buffer ? LogitTerms(context, b, shape, [&] { return buffer->past(); })
                             : LogitTerms(context, b, shape, past_length);
  logits.read_mask(places.mask);
  logits.read_bias(places.attention_bias);

  AttentionTerms terms;
  terms.query = [&](const Indices& i) { return in.query.at(i); };
  terms.key = [&](const Indices& i) { return in.key.at(i); };
  terms.value = [&](const Indices& i) { return in.value.at(i); };
  TensorRef keys, values;
  if (past_key.defined() || context.outputs() > 1) {
    const Dims key_dims = {own.batch, own.heads, own.keys, own.key_size};
    const Dims value_dims = {own.batch, own.heads, own.keys, own.value_size};
    keys = buffer ? buffer->written(past_key, key_dims, terms.key)
                  : joined_states(b, past_key, key_dims, type, terms.key);
    values = buffer ? buffer->written(past_value, value_dims, terms.value)
                    : joined_states(b, past_value, value_dims, type, terms.value);
    terms.key = [&](const Indices& i) { return widen(buffer ? buffer->at(keys, i) : keys(i)); };
    terms.value = [&](const Indices& i) { return widen(buffer ? buffer->at(values, i) : values(i)); };
  }
  terms.scale = attention_scale(context, b, compute_type(type), shape.key_size);
  terms.logit = [&](const Indices& i, const Scalar& product) { return logits.apply(i, product); };
  const AttentionResult result = attention(b, shape, terms);
  b.output(converted(b, result.output, type));
  if (context.outputs() < 2) return;
  b.output(keys);
  b.output(values);
  if (!context.wants(3)) return;
  Dims dims = shape.scores();
  if (buffer) dims[3] = context.elements(places.past_length).at(0) + own.keys;
  b.output(b.map(dims, [&](const Indices& i) { return cast(type, result.logits(i)); }));
}

void multi_head_attention(const OperatorContext& context, Builder& b) {
  HeadInputs in = read_layout(context, b, head_count(context, "num_heads"));
  const InputPlaces places = {.bias = 3,
                              .mask = 4,
                              .attention_bias = 5,
                              .past_key = 6,
                              .past_value = 7,
                              .past_length = 8,
                              .indirection = 9};
  attend(context, b, in, places, context.has(6) && context.has(8));
}

/// Input 8, the width of the beams, is that of cache_indirection.
void decoder_masked_attention(const OperatorContext& context, Builder& b) {
  HeadInputs in = read_decoder_layout(context, b, head_count(context, "num_heads"));
  const InputPlaces places = {.bias = 10,
                              .mask = 3,
                              .attention_bias = 4,
                              .past_key = 5,
                              .past_value = 6,
                              .past_length = 7,
                              .indirection = 9};
  const bool shares_buffer = flag(context, "past_present_share_buffer", false);
  attend(context, b, in, places, shares_buffer && context.has(5));
}

}  // namespace

void multi_head_attention_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "DecoderMaskedMultiHeadAttention", 1, decoder_masked_attention});
  table.push_back({microsoft_domain, "MultiHeadAttention", 1, multi_head_attention});
}

}  // namespace axrun::ir
