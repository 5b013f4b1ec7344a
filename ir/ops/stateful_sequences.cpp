// CausalConvWithState and LinearAttention (opset 27): sequence operators that carry a state from call to
// call.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/heads.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// A depthwise convolution [B, C, L] whose window ends at each position; what precedes the input comes from
/// the state, the last (k - 1) dilation positions. That of com.microsoft may have a dilation, and channels
/// last.
void define_causal_convolution(const OperatorContext& context, Builder& b) {
  const TensorRef x = real_operand(b, context, 0);
  const TensorRef w = real_operand(b, context, 1);
  context.check(x.rank() == 3 && w.rank() == 3, "the input and the weight must have rank 3");
  if (context.integer("ndim", 1) != 1) context.unsupported("attribute 'ndim'");
  const int64_t dilation = bounded_integer(context, "dilation", 1, 1, int64_t{1} << 30);
  const bool channels_last = flag(context, "channels_last", false);
  const size_t channel_axis = channels_last ? 2 : 1, length_axis = channels_last ? 1 : 2;
  const auto ordered = [&](auto batch, auto channel, auto place) {
    return channels_last ? std::vector{batch, place, channel} : std::vector{batch, channel, place};
  };
  for (int k : {1, 2, 3}) {
    context.check(!context.has(k) || context.type(k) == x.type(), "the inputs must have one type");
  }
  const Dim kernel = w.dims()[2];
  check_dims(context, w, {x.dims()[channel_axis], Dim(1), kernel}, "the weight");
  const Dim history = (kernel - 1) * dilation;
  context.check(context.may_be_at_least(history, 0), "the kernel is empty");
  const Dims state_dims = ordered(x.dims()[0], x.dims()[channel_axis], history);
  TensorRef bias;
  TensorRef past;
  if (context.has(2)) bias = shaped_operand(b, context, 2, {x.dims()[channel_axis]}, "the bias");
  if (context.has(3)) past = shaped_operand(b, context, 3, state_dims, "past_state");
  const std::string activation = context.string("activation", "none");
  context.check(activation == "none" || activation == "silu" || activation == "swish",
                "attribute 'activation' may not be '" + activation + "'");

  // Position p counts from the start of the state.
  const auto at = [&](const Indices& i, const Scalar& p) {
    const Scalar is_old = p < history;
    const Scalar zero = b.real(x.type(), 0);
    const auto place = [&](const Scalar& position) { return ordered(i[0], i[channel_axis], position); };
    const Scalar old_value = past.defined() ? past.guarded(place(p), is_old, zero) : zero;
    return select(is_old, old_value, x.guarded(place(p - history), !is_old, zero));
  };
  const TensorRef sum = b.sum(x.dims(), {kernel}, [&](const Indices& i, const Indices& k) {
    return widen(at(i, i[length_axis] + k[0] * dilation)) * widen(w({i[channel_axis], b.integer(0), k[0]}));
  });
  b.output(b.map(x.dims(), [&](const Indices& i) {
    const Scalar value = bias.defined() ? sum(i) + widen(bias({i[channel_axis]})) : sum(i);
    return cast(x.type(), activation == "none" ? value : value * sigmoid(value));
  }));
  b.output(
      b.map(state_dims, [&](const Indices& i) { return at(i, i[length_axis] + x.dims()[length_axis]); }));
}

/// The inputs of LinearAttention, unpacked from [B, T, heads * size].
struct LinearAttentionNode {
  Heads q, k, v;
  Dim group;        ///< query heads of a key head
  Dim sharers = 1;  ///< key heads of a query head
  bool gated = false;
  bool delta = false;
  double scale = 1;
  TensorRef past;
  TensorRef decay;  ///< [B, T, kv heads * key size] or [B, T, kv heads]
  TensorRef beta;   ///< [B, T, kv heads] or [B, T, 1]
  bool decay_per_key = false;

  Dims state_dims() const { return {k.batch, k.heads, k.size, v.size}; }
};

LinearAttentionNode linear_attention_node(const OperatorContext& context, Builder& b) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  LinearAttentionNode n;
  const int64_t q_heads = bounded_integer(context, "q_num_heads", 0, 1, most);
  const int64_t kv_heads = bounded_integer(context, "kv_num_heads", 0, 1, most);
  // More key heads than query heads are com.microsoft's.
  context.check(q_heads % kv_heads == 0 || kv_heads % q_heads == 0,
                "q_num_heads must be a multiple of kv_num_heads, or the other way round");
  for (int k : {0, 1, 2}) {
    context.check(context.rank(k) == 3 && context.type(k) == context.type(0),
                  "query, key and value must have rank 3 and one type");
  }
  n.q = heads_of(context, b, 0, q_heads);
  n.k = heads_of(context, b, 1, kv_heads);
  n.v = heads_of(context, b, 2, kv_heads);
  n.group = Dim(std::max<int64_t>(q_heads / kv_heads, 1));
  n.sharers = Dim(std::max<int64_t>(kv_heads / q_heads, 1));
  check_dims(context, n.k.tensor, {n.q.batch, n.q.length, Dim(kv_heads) * n.q.size}, "key");
  check_dims(context, n.v.tensor, {n.q.batch, n.q.length, Dim(kv_heads) * n.v.size}, "value");
  const std::string rule = context.string("update_rule", "gated_delta");
  n.gated = rule == "gated" || rule == "gated_delta";
  n.delta = rule == "delta" || rule == "gated_delta";
  context.check(n.gated || n.delta || rule == "linear", "attribute 'update_rule' may not be '" + rule + "'");
  context.check(context.has(4) == n.gated && context.has(5) == n.delta,
                "decay and beta must be given as the update rule asks");
  n.scale = context.real("scale", 0);
  if (n.scale == 0) n.scale = 1 / std::sqrt(static_cast<double>(context.fixed(n.q.size)));
  if (context.has(3)) {
    real_operand(b, context, 3);
    n.past = shaped_operand(b, context, 3, n.state_dims(), "past_state");
  }
  // The last dimension tells what a gate is given for: the others are those of query.
  const auto gate_size = [&](int k) {
    context.check(context.type(k) == context.type(0) && context.rank(k) == 3,
                  fmt::format("input {} must have rank 3 and the type of query", k));
    return context.dims(k)[2];
  };
  const auto gate = [&](int k, const Dim& size) {
    return shaped_operand(b, context, k, {n.q.batch, n.q.length, size}, fmt::format("input {}", k));
  };
  if (n.gated) {
    n.decay_per_key = !context.equal(gate_size(4), n.k.heads);
    n.decay = gate(4, n.decay_per_key ? n.k.heads * n.k.size : n.k.heads);
  }
  if (n.delta) n.beta = gate(5, context.is_one(gate_size(5)) ? Dim(1) : n.k.heads);
  return n;
}

/// S = e^g S + k (x) v, where the delta rules put beta (v - S^T k) in place of v; o = scale q^T S.
void define_linear_attention(const OperatorContext& context, Builder& b) {
  const LinearAttentionNode n = linear_attention_node(context, b);
  const ElementType type = compute_type(n.q.tensor.type());
  const Dims state_dims = n.state_dims();
  const TensorRef initial = b.map(state_dims, [&](const Indices& i) {
    return n.past.defined() ? cast(type, n.past(i)) : b.real(type, 0);
  });
  std::vector<TensorRef> captures = {n.q.tensor, n.k.tensor, n.v.tensor};
  if (n.gated) captures.push_back(n.decay);
  if (n.delta) captures.push_back(n.beta);
  const auto results =
      b.scan(n.q.length, captures, {initial}, [&](Builder& step, const auto& inner, const auto& states) {
        LinearAttentionNode m = n;
        m.q.tensor = inner[0];
        m.k.tensor = inner[1];
        m.v.tensor = inner[2];
        if (n.gated) m.decay = inner[3];
        if (n.delta) m.beta = inner[n.gated ? 4 : 3];
        const Scalar time = step.time();
        const Dim& size = n.k.size;
        // The state after its decay, at (batch, head, key element, value element).
        const auto decayed = [&](const Indices& i) {
          if (!n.gated) return states[0](i);
          const Scalar place = n.decay_per_key ? i[1] * size + i[2] : i[1];
          return states[0](i) * exp(widen(m.decay({i[0], time, place})));
        };
        TensorRef retrieved;
        if (n.delta) {
          retrieved = step.sum(
              {state_dims[0], state_dims[1], state_dims[3]}, {size}, [&](const Indices& i, const Indices& r) {
                return decayed({i[0], i[1], r[0], i[2]}) * widen(m.k(i[0], i[1], time, r[0]));
              });
        }
        const TensorRef state = step.map(state_dims, [&](const Indices& i) {
          Scalar value = widen(m.v(i[0], i[1], time, i[3]));
          if (n.delta) {
            const bool shared = n.beta.dims()[2] == Dim(1);
            const Scalar rate = widen(m.beta({i[0], time, shared ? step.integer(0) : i[1]}));
            value = rate * (value - retrieved({i[0], i[1], i[3]}));
          }
          return decayed(i) + widen(m.k(i[0], i[1], time, i[2])) * value;
        });
        const TensorRef output =
            step.reduce_grouped(Monoid::Kind::sum, {n.q.batch, n.k.heads, n.group, n.v.size},
                                {{0}, {1, 2, 3}}, {size}, [&](const Indices& i, const Indices& r) {
                                  const Scalar head = floor_div(i[1], n.sharers) * n.group + i[2];
                                  const Scalar query = widen(m.q(i[0], head, time, r[0]));
                                  return query * state({i[0], i[1], r[0], i[3]}) * n.scale;
                                });
        return Builder::StepResult{{state}, {output}};
      });
  const Dims packed = {n.q.batch, n.q.length, n.k.heads * n.group * n.v.size};
  b.output(b.map(packed, [&](const Indices& i) {
    return cast(n.q.tensor.type(), results[1]({i[1], i[0], i[2]}));
  }));
  const ElementType state_type = n.past.defined() ? n.past.type() : n.q.tensor.type();
  b.output(b.map(state_dims, [&](const Indices& i) { return cast(state_type, results[0](i)); }));
}

}  // namespace

void stateful_sequence_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "CausalConvWithState", 27, define_causal_convolution},
                                {"", "LinearAttention", 27, define_linear_attention},
                            });
}

}  // namespace axrun::ir
