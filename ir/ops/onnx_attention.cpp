// Attention of ai.onnx (opset 23 to 25): softmax(scale Q K^T + bias) V with grouped heads and a key-value
// cache.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/heads.h"
#include "ir/ops/requirements.h"
#include "ir/ops/softmax.h"

namespace axrun::ir {

Scalar Heads::operator()(const Scalar& batch_index, const Scalar& head, const Scalar& position,
                         const Scalar& element) const {
  if (packed) return tensor({batch_index, position, head * size + element});
  return tensor({batch_index, head, position, element});
}

Heads heads_of(const OperatorContext& context, Builder& b, int k, int64_t packed_heads) {
  Heads h;
  h.tensor = real_operand(b, context, k);
  const Dims& dims = h.tensor.dims();
  if (dims.size() == 4) {
    h.batch = dims[0];
    h.heads = dims[1];
    h.length = dims[2];
    h.size = dims[3];
    return h;
  }
  context.check(dims.size() == 3, fmt::format("input {} must have rank 3 or 4", k));
  context.check(packed_heads > 0, "inputs of rank 3 need the number of heads");
  h.packed = true;
  h.batch = dims[0];
  h.length = dims[1];
  h.heads = Dim(packed_heads);
  if (!context.equal(floor_mod(dims[2], h.heads), Dim(0))) {
    context.fail(fmt::format("{} elements do not split into {} heads", dims[2].to_string(), packed_heads));
  }
  h.size = floor_div(dims[2], h.heads);
  return h;
}

namespace {

enum { q_input, k_input, v_input, mask_input, past_key_input, past_value_input, valid_length_input };

/// Everything decided about a node. Scores and probabilities lie at (batch, query head, query, key).
struct AttentionNode {
  Heads q, k, v;
  TensorRef keys;    ///< [batch, kv heads, total, size] with the past, or undefined
  TensorRef values;  ///< likewise
  TensorRef mask;    ///< or undefined
  TensorRef valid;   ///< number of valid keys per batch entry, or undefined
  Dim past;
  Dim total;
  Dim group;  ///< query heads per key head
  double scale = 1;
  double softcap = 0;
  bool causal = false;
  int64_t left_window = -1;
  int64_t right_window = -1;
  ElementType type = ElementType::f32;

  bool restricts() const {
    return causal || mask.defined() || valid.defined() || left_window >= 0 || right_window >= 0;
  }
  Dims score_dims() const { return {q.batch, q.heads, q.length, total}; }
  Scalar key(const Scalar& batch, const Scalar& head, const Scalar& position, const Scalar& element) const {
    return keys.defined() ? keys({batch, head, position, element}) : k(batch, head, position, element);
  }
  Scalar value(const Scalar& batch, const Scalar& head, const Scalar& position, const Scalar& element) const {
    return values.defined() ? values({batch, head, position, element}) : v(batch, head, position, element);
  }
};

/// The cache and then the new positions, along the third dimension.
TensorRef with_past(const OperatorContext& context, Builder& b, const Heads& heads, int past_input,
                    const Dim& past) {
  context.check(context.type(past_input) == heads.tensor.type(), "a cache must have the type of its input");
  const TensorRef cache =
      shaped_operand(b, context, past_input, {heads.batch, heads.heads, past, heads.size}, "a cache");
  return b.map({heads.batch, heads.heads, past + heads.length, heads.size}, [&](const Indices& i) {
    const Scalar is_old = i[2] < past;
    const Scalar zero = b.real(cache.type(), 0);
    const Indices fresh = heads.packed ? Indices{i[0], i[2] - past, i[1] * heads.size + i[3]}
                                       : Indices{i[0], i[1], i[2] - past, i[3]};
    return select(is_old, cache.guarded(i, is_old, zero), heads.tensor.guarded(fresh, !is_old, zero));
  });
}

void check_shapes(const OperatorContext& context, const AttentionNode& a) {
  const bool fits = context.equal(a.q.batch, a.k.batch) && context.equal(a.q.batch, a.v.batch) &&
                    context.equal(a.k.heads, a.v.heads) && context.equal(a.k.length, a.v.length) &&
                    context.equal(a.q.size, a.k.size) &&
                    context.equal(floor_mod(a.q.heads, a.k.heads), Dim(0));
  if (!fits) {
    context.fail(fmt::format("Q {}, K {} and V {} do not fit together", to_string(a.q.tensor.dims()),
                             to_string(a.k.tensor.dims()), to_string(a.v.tensor.dims())));
  }
}

/// The mask broadcasts to the scores, but may cover fewer keys than there are.
void check_mask(const OperatorContext& context, const AttentionNode& a) {
  const Dims& dims = a.mask.dims();
  context.check(!dims.empty() && dims.size() <= 4, "the mask must have rank 1 to 4");
  const Dims scores = a.score_dims();
  for (size_t k = 1; k < dims.size(); ++k) {
    const Dim& dim = dims[dims.size() - 1 - k];
    if (!context.is(dim, 1) && !context.equal(dim, scores[3 - k])) {
      context.fail(fmt::format("the mask {} does not broadcast to {}", to_string(dims), to_string(scores)));
    }
  }
  context.check(dims.back() == a.total || !context.less(a.total, dims.back()),
                "the mask covers more keys than there are");
}

AttentionNode attention_node(const OperatorContext& context, Builder& b) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  AttentionNode a;
  const int64_t q_heads = bounded_integer(context, "q_num_heads", 0, 0, most);
  const int64_t kv_heads = bounded_integer(context, "kv_num_heads", 0, 0, most);
  a.q = heads_of(context, b, q_input, q_heads);
  a.k = heads_of(context, b, k_input, kv_heads);
  a.v = heads_of(context, b, v_input, kv_heads);
  context.check(a.k.tensor.type() == a.q.tensor.type(), "Q and K must have one type");
  context.check(context.may_be_at_least(a.k.heads, 1), "there are no key heads");
  check_shapes(context, a);
  a.group = floor_div(a.q.heads, a.k.heads);
  a.type = a.q.tensor.type();
  a.scale = context.real("scale", 0);
  if (!context.has_attribute("scale")) a.scale = 1 / std::sqrt(static_cast<double>(context.fixed(a.q.size)));
  a.softcap = context.real("softcap", 0);
  a.causal = flag(context, "is_causal", false);
  a.left_window = bounded_integer(context, "left_window_size", -1, -1, most);
  a.right_window = bounded_integer(context, "right_window_size", -1, -1, most);
  const ElementType precision = type_attribute(context, "softmax_precision", a.type);
  context.check(is_real_type(precision), "attribute 'softmax_precision' is not a float type");

  context.check(context.has(past_key_input) == context.has(past_value_input),
                "past_key and past_value go together");
  a.past = Dim(0);
  if (context.has(past_key_input)) {
    context.check(context.rank(past_key_input) == 4, "past_key must have rank 4");
    a.past = context.dims(past_key_input)[2];
    a.keys = with_past(context, b, a.k, past_key_input, a.past);
    a.values = with_past(context, b, a.v, past_value_input, a.past);
  }
  a.total = a.past + a.k.length;
  if (context.has(mask_input)) {
    require_type(context, mask_input, TypeClass::number_or_boolean);
    a.mask = operand(b, context, mask_input);
    check_mask(context, a);
  }
  if (context.has(valid_length_input)) {
    context.check(!a.keys.defined(), "nonpad_kv_seqlen excludes past_key and past_value");
    require_type(context, valid_length_input, TypeClass::integer);
    a.valid = shaped_operand(b, context, valid_length_input, {a.q.batch}, "nonpad_kv_seqlen");
  }
  return a;
}

/// What is added to the score at (batch, head, query, key): 0 or the float mask, and minus infinity where the
/// key may not be attended.
Scalar bias_at(const OperatorContext& context, Builder& b, const AttentionNode& a, const Indices& i) {
  const ElementType type = compute_type(a.type);
  const Scalar forbidden = b.real(type, -std::numeric_limits<double>::infinity());
  Scalar allowed = b.boolean(true);
  Scalar bias = b.real(type, 0);
  // The position of the query among the keys.
  Scalar position = i[2] + a.past;
  if (a.valid.defined()) {
    const Scalar valid = cast(ElementType::i64, a.valid({i[0]}));
    position = i[2] + valid - a.q.length;
    allowed = logical_and(allowed, i[3] < valid);
  }
  if (a.causal) allowed = logical_and(allowed, i[3] <= position);
  if (a.left_window >= 0) allowed = logical_and(allowed, position - i[3] <= a.left_window);
  if (a.right_window >= 0) allowed = logical_and(allowed, i[3] - position <= a.right_window);
  if (a.mask.defined()) {
    const Dims& dims = a.mask.dims();
    Indices at;
    for (size_t d = 0; d < dims.size(); ++d) {
      const bool spread = d + 1 < dims.size() && context.is(dims[d], 1);
      at.push_back(spread ? b.integer(0) : i[4 - dims.size() + d]);
    }
    // Before opset 24 the last dimension broadcasts; since then missing keys are masked.
    if (context.is(dims.back(), 1) && context.version() < 24) at.back() = b.integer(0);
    const Scalar covered = at.back() < dims.back();
    const Scalar mask = a.mask.guarded(at, covered, b.literal(a.mask.type(), 0));
    allowed = logical_and(allowed, covered);
    if (a.mask.type() == ElementType::boolean) {
      allowed = logical_and(allowed, mask);
    } else {
      bias = cast(type, mask);
    }
  }
  return select(allowed, bias, forbidden);
}

/// The present keys or values as an output.
TensorRef present(Builder& b, const Heads& heads, const TensorRef& cached) {
  if (cached.defined()) return cached;
  return b.map({heads.batch, heads.heads, heads.length, heads.size},
               [&](const Indices& i) { return heads(i[0], i[1], i[2], i[3]); });
}

/// sum over keys of probability * value, in the layout of the query.
TensorRef attended(Builder& b, const AttentionNode& a, const TensorRef& probability) {
  const auto term = [&](const Scalar& batch, const Scalar& kv_head, const Scalar& member, const Scalar& query,
                        const Scalar& element, const Scalar& position) {
    const Scalar weight = probability({batch, kv_head * a.group + member, query, position});
    return cast(a.type, weight * cast(weight.type(), a.value(batch, kv_head, position, element)));
  };
  if (a.q.packed) {
    return b.reduce_grouped(Monoid::Kind::sum, {a.q.batch, a.q.length, a.k.heads, a.group, a.v.size},
                            {{0}, {1}, {2, 3, 4}}, {a.total}, [&](const Indices& i, const Indices& r) {
                              return term(i[0], i[2], i[3], i[1], i[4], r[0]);
                            });
  }
  return b.reduce_grouped(Monoid::Kind::sum, {a.q.batch, a.k.heads, a.group, a.q.length, a.v.size},
                          {{0}, {1, 2}, {3}, {4}}, {a.total}, [&](const Indices& i, const Indices& r) {
                            return term(i[0], i[1], i[2], i[3], i[4], r[0]);
                          });
}

void define_attention(const OperatorContext& context, Builder& b) {
  const AttentionNode a = attention_node(context, b);
  const ElementType type = compute_type(a.type);
  const Dims dims = a.score_dims();
  const double infinity = std::numeric_limits<double>::infinity();
  // Query heads are named factors: (key head, member of its group).
  const TensorRef product =
      b.reduce_grouped(Monoid::Kind::sum, {a.q.batch, a.k.heads, a.group, a.q.length, a.total},
                       {{0}, {1, 2}, {3}, {4}}, {a.q.size}, [&](const Indices& i, const Indices& r) {
                         const Scalar head = i[1] * a.group + i[2];
                         return widen(a.q(i[0], head, i[3], r[0])) * widen(a.key(i[0], i[1], i[4], r[0]));
                       });
  const auto scaled = [&](const Indices& i) { return product(i) * a.scale; };
  const auto capped = [&](const Indices& i) {
    return a.softcap > 0 ? tanh(scaled(i) / a.softcap) * a.softcap : scaled(i);
  };
  TensorRef bias;
  TensorRef largest_bias;
  if (a.restricts()) {
    bias = b.map(dims, [&](const Indices& i) { return bias_at(context, b, a, i); });
    largest_bias = b.reduce(Monoid::Kind::max, part(dims, 0, 3), {a.total},
                            [&](const Indices& i, const Indices& r) { return bias(joined(i, r)); });
  }
  // Selected, not added: a score that is infinite or NaN is forbidden as any other.
  const auto logit = [&](const Indices& i) {
    if (!bias.defined()) return capped(i);
    return select(bias(i) == -infinity, b.real(type, -infinity), capped(i) + bias(i));
  };
  const SoftmaxParts parts = softmax_parts(b, dims, {3}, logit);
  // A query that may attend nothing gives 0.
  const TensorRef probability = b.map(dims, [&](const Indices& i) {
    const Scalar p = softmax_at(parts, i);
    if (!bias.defined()) return p;
    return select(largest_bias(part(i, 0, 3)) == -infinity, b.real(type, 0), p);
  });
  b.output(attended(b, a, probability));
  const int outputs = wanted_outputs(context);
  if (outputs > 1) b.output(present(b, a.k, a.keys));
  if (outputs > 2) b.output(present(b, a.v, a.values));
  if (outputs <= 3) return;
  const int64_t mode = bounded_integer(context, "qk_matmul_output_mode", 0, 0, 3);
  b.output(b.map(dims, [&](const Indices& i) {
    const Scalar shown = mode == 0   ? scaled(i)
                         : mode == 1 ? capped(i)
                         : mode == 2 ? logit(i)
                                     : probability(i);
    return cast(a.type, shown);
  }));
}

}  // namespace

void attention_operators(std::vector<OperatorEntry>& table) {
  table.push_back({"", "Attention", 23, define_attention});
  flex_attention_operators(table);
  rotary_embedding_operators(table);
  stateful_sequence_operators(table);
}

}  // namespace axrun::ir
