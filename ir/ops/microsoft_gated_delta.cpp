// com.microsoft: GatedDeltaNet, linear attention over sequences that are packed one after the other.
#include <fmt/format.h>

#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// S = diag(e^g) S + d k^T and o = scale S q for every token and head, where d is v, or beta (v - e^g S k)
/// with the delta rules; states [batch, heads, value size, key size] are between sequences. All arithmetic is
/// in f32.
class GatedDeltaNet {
 public:
  GatedDeltaNet(const OperatorContext& context, Builder& b) : context_(context), b_(b) {}

  void define() {
    read_rule();
    read_tokens();
    read_gates();
    const auto results = scan();
    const TensorRef& outputs = results[1];
    Dims dims = lead_;
    dims.insert(dims.end(), {heads_, value_size_});
    b_.output(b_.map(dims, [&](const Indices& i) {
      Indices at = steps_of(part(i, 0, lead_.size()));
      return cast(type_, outputs(joined(at, part(i, lead_.size(), i.size()))));
    }));
    if (context_.outputs() < 2) return;
    b_.output(results[0]);
    if (context_.wants(2)) b_.output(state_update(results[2]));
  }

 private:
  void read_rule() {
    const std::string rule = context_.string("update_rule", "gated_delta");
    gated_ = rule == "gated" || rule == "gated_delta";
    delta_ = rule == "delta" || rule == "gated_delta";
    context_.check(gated_ || delta_ || rule == "linear", fmt::format("update_rule '{}' is unknown", rule));
    context_.check(context_.has(4) == gated_ && context_.has(5) == delta_,
                   "decay and beta must be given as the update rule asks");
    capacity_ = bounded_integer(context_, "state_update_capacity", 0, 0, 8);
    context_.check(context_.has(9) == (capacity_ > 0),
                   "capture_count goes with a positive state_update_capacity");
  }

  /// Tokens in one row or, where all sequences are equally long, perhaps [batch, length]; query, key and
  /// value apart or side by side in the query.
  void read_tokens() {
    const TensorRef query = typed_operand(b_, context_, 0, {f32, ElementType::f16, ElementType::bf16});
    type_ = query.type();
    const bool packed = !context_.has(1);
    context_.check(packed == !context_.has(2), "key and value go together");
    const size_t trailing = packed ? 1 : 2;
    const auto refuse = [&] { context_.fail(fmt::format("a query of shape {}", to_string(query.dims()))); };
    if (query.dims().size() != trailing + 1 && query.dims().size() != trailing + 2) refuse();
    lead_ = part(query.dims(), 0, query.dims().size() - trailing);
    TensorRef state;
    if (context_.has(6)) {
      state = typed_operand(b_, context_, 6, {f32});
      context_.check(state.rank() == 4, fmt::format("initial_state of shape {}", to_string(state.dims())));
    }
    TensorRef key = query, value = query;
    if (packed) {
      context_.check(state.defined(), "packed tokens need an initial_state");
      heads_ = state.dims()[1];
      value_size_ = state.dims()[2];
      key_size_ = state.dims()[3];
      const Dim keys = query.dims().back() - heads_ * value_size_;
      key_heads_ = floor_div(keys, key_size_ * 2);
      if (!context_.equal(key_heads_ * key_size_ * 2, keys)) refuse();
    } else {
      key_heads_ = query.dims()[lead_.size()];
      key_size_ = query.dims().back();
      key = typed_operand(b_, context_, 1, {type_});
      check_dims(context_, key, query.dims(), "the key");
      value = typed_operand(b_, context_, 2, {type_});
      context_.check(value.rank() == query.rank(),
                     fmt::format("a value of shape {}", to_string(value.dims())));
      heads_ = value.dims()[lead_.size()];
      value_size_ = value.dims().back();
      Dims dims = lead_;
      dims.insert(dims.end(), {heads_, value_size_});
      check_dims(context_, value, dims, "the value");
    }
    group_ = floor_div(heads_, key_heads_);
    context_.check(context_.equal(group_ * key_heads_, heads_) && !context_.less(heads_, Dim(1)),
                   "the heads of the value are no multiple of the query's");
    read_sequences(state);
    const bool normalised = flag(context_, "qk_l2_norm", false);
    const Dim width = key_heads_ * key_size_;
    query_ = heads_of(query, packed, Dim(0), key_heads_, key_size_, normalised);
    key_ = heads_of(key, packed, width, key_heads_, key_size_, normalised);
    value_ = heads_of(value, packed, width * 2, heads_, value_size_, false);
  }

  void read_sequences(const TensorRef& state) {
    if (context_.has(3)) {
      context_.check(lead_.size() == 1, "sequences of their own lengths are packed in one row");
      starts_ = typed_operand(b_, context_, 3, {ElementType::i32});
      context_.check(starts_.rank() == 1 && !context_.less(starts_.dims()[0], Dim(2)),
                     fmt::format("cu_seqlens of shape {}", to_string(starts_.dims())));
      batch_ = starts_.dims()[0] - 1;
      read_owners();
    } else if (lead_.size() == 2) {
      batch_ = lead_[0];
      length_ = lead_[1];
    } else {
      context_.check(state.defined(), "initial_state or cu_seqlens is needed: how many sequences there are");
      batch_ = state.dims()[0];
      length_ = divided_tokens();
    }
    const Dims dims = {batch_, heads_, value_size_, key_size_};
    if (state.defined()) check_dims(context_, state, dims, "initial_state");
    state_ = b_.map(dims, [&](const Indices& i) { return state.defined() ? state(i) : b_.literal(f32, 0); });
  }

  Dim divided_tokens() const {
    const Dim length = floor_div(lead_[0], batch_);
    context_.check(context_.equal(length * batch_, lead_[0]),
                   fmt::format("{} tokens in {} sequences", lead_[0].to_string(), batch_.to_string()));
    return length;
  }

  /// The sequence of each token, where sequences have their own lengths. There is none, which is refused when
  /// its state is read, unless cu_seqlens rises from 0 to the number of tokens.
  void read_owners() {
    const Scalar zero = b_.integer(0), one = b_.integer(1);
    const TensorRef wrong = b_.sum({}, {batch_}, [&](const Indices&, const Indices& r) {
      const Scalar falls = starts_({r[0]}) > starts_({r[0] + 1});
      const Scalar begins = logical_or(r[0] > 0, starts_({r[0]}) == 0);
      const Scalar end = cast(ElementType::i64, starts_({r[0] + 1}));
      const Scalar ends = logical_or(r[0] < batch_ - 1, end == lead_[0]);
      return select(logical_or(falls, !logical_and(begins, ends)), one, zero);
    });
    const TensorRef before = b_.sum({lead_[0]}, {batch_}, [&](const Indices& i, const Indices& r) {
      return select(cast(ElementType::i64, starts_({r[0] + 1})) <= i[0], one, zero);
    });
    owner_ = b_.map({lead_[0]},
                    [&](const Indices& i) { return select(wrong({}) == 0, before(i), b_.integer(-1)); });
  }

  /// [tokens..., heads, size] of what begins at column `first` where it is packed, perhaps of length 1.
  TensorRef heads_of(const TensorRef& x, bool packed, const Dim& first, const Dim& heads, const Dim& size,
                     bool normalised) const {
    const size_t rank = lead_.size();
    Dims dims = lead_;
    dims.insert(dims.end(), {heads, size});
    const auto at = [&](const Indices& i) {
      if (!packed) return widen(x(i));
      Indices place = part(i, 0, rank);
      place.push_back(i[rank] * size + i[rank + 1] + first);
      return widen(x(place));
    };
    if (!normalised) return b_.map(dims, at);
    // ONNX Runtime's, as the models have it that these gates come from.
    const double epsilon = has_sigmoid_gate() ? 1e-6 : 1e-12;
    const TensorRef squares =
        b_.sum(part(dims, 0, rank + 1), {size}, [&](const Indices& i, const Indices& r) {
          const Scalar element = at(joined(i, r));
          return element * element;
        });
    return b_.map(dims,
                  [&](const Indices& i) { return at(i) / sqrt(squares(part(i, 0, rank + 1)) + epsilon); });
  }

  bool has_sigmoid_gate() const {
    const std::string activation = context_.string("gate_activation", "none");
    return activation == "sigmoid" || activation == "kda";
  }

  TensorRef gate_operand(int k, const Dims& dims, const std::string& what) const {
    typed_operand(b_, context_, k, {f32, type_});
    context_.check(!(gated_ && delta_) || context_.type(4) == context_.type(5),
                   "decay and beta differ in type");
    return shaped_operand(b_, context_, k, dims, what);
  }

  void read_gates() {
    Dims rows = lead_;
    rows.push_back(heads_);
    const std::string activation = context_.string("gate_activation", "none");
    const bool softplus = activation == "softplus" || activation == "qwen";
    const bool sigmoid_gate = has_sigmoid_gate();
    context_.check(softplus || sigmoid_gate || activation == "none",
                   fmt::format("gate_activation '{}' is unknown", activation));
    const bool active = softplus || sigmoid_gate;
    context_.check(active || !(context_.has(7) || context_.has(8)),
                   "a_log and dt_bias go with an activation of the decay");
    context_.check(!(active && gated_) || (context_.has(7) && context_.has(8)),
                   "an activation of the decay needs a_log and dt_bias");
    const double bound = context_.real("gate_lower_bound", -5);
    context_.check(!sigmoid_gate || (std::isfinite(bound) && bound < 0), "gate_lower_bound must be negative");
    const std::string rate = context_.string("beta_activation", "none");
    context_.check(rate == "none" || rate == "sigmoid", fmt::format("beta_activation '{}' is unknown", rate));
    if (delta_) {
      const TensorRef beta = gate_operand(5, rows, "beta");
      beta_ = b_.map(
          rows, [&](const Indices& i) { return rate == "none" ? widen(beta(i)) : sigmoid(widen(beta(i))); });
    }
    if (!gated_) return;
    decay_per_key_ = context_.rank(4) == static_cast<int>(rows.size()) + 1;
    Dims dims = rows;
    if (decay_per_key_) dims.push_back(key_size_);
    const TensorRef decay = gate_operand(4, dims, "decay");
    TensorRef slope, bias;
    if (active) {
      slope = typed_operand(b_, context_, 7, {f32});
      check_dims(context_, slope, {heads_}, "a_log");
      bias = gate_bias();
    }
    decay_ = b_.map(dims, [&](const Indices& i) {
      Scalar g = widen(decay(i));
      if (active) {
        const Scalar& head = i[lead_.size()];
        const Scalar factor = exp(slope({head}));
        g = g + bias_at(bias, part(i, lead_.size(), i.size()));
        g = softplus ? -(factor * log_one_plus_exp(g)) : sigmoid(factor * g) * bound;
      }
      return exp(g);
    });
  }

  TensorRef gate_bias() const {
    const TensorRef bias = typed_operand(b_, context_, 8, {f32});
    const auto& dims = bias.dims();
    const bool per_head = dims.size() == 1 && context_.equal(dims[0], heads_);
    const bool flat = dims.size() == 1 && context_.equal(dims[0], heads_ * key_size_);
    const bool matrix =
        dims.size() == 2 && context_.equal(dims[0], heads_) && context_.equal(dims[1], key_size_);
    context_.check(per_head || (decay_per_key_ && (flat || matrix)),
                   fmt::format("dt_bias of shape {}", to_string(dims)));
    return bias;
  }
  /// At a head, or a head and a component of its key.
  Scalar bias_at(const TensorRef& bias, const Indices& i) const {
    if (bias.rank() == 2) return bias(i);
    const bool per_head = context_.equal(bias.dims()[0], heads_);
    return bias({per_head ? i[0] : i[0] * key_size_ + i[1]});
  }
  static Scalar log_one_plus_exp(const Scalar& x) { return max(x, 0.0) + log(exp(-abs(x)) + 1.0); }

  /// Where tokens are read in a step of the scan: all sequences move on together, or one that owns the token.
  struct Step {
    TensorRef query, key, value, decay, beta, owner;
    Scalar time;
  };
  bool ragged() const { return starts_.defined(); }
  Dim rows() const { return ragged() ? Dim(1) : batch_; }
  Scalar sequence(const Step& step, const Scalar& row) const {
    return ragged() ? step.owner({step.time}) : row;
  }
  Indices token(const Step& step, const Scalar& row) const {
    if (ragged()) return {step.time};
    if (lead_.size() == 2) return {row, step.time};
    return {row * length_ + step.time};
  }
  /// Where a token is among the results of the steps: step and row.
  Indices steps_of(const Indices& token) const {
    if (ragged()) return {token[0], b_.integer(0)};
    if (lead_.size() == 2) return {token[1], token[0]};
    return {floor_mod(token[0], length_), floor_div(token[0], length_)};
  }

  /// The final states, then by step, row, head and component of the value: outputs and d.
  std::vector<TensorRef> scan() {
    std::vector<TensorRef> captures = {query_, key_, value_};
    if (gated_) captures.push_back(decay_);
    if (delta_) captures.push_back(beta_);
    if (ragged()) captures.push_back(owner_);
    const double given = context_.real("scale", 0);
    const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(context_.fixed(key_size_)));
    return b_.scan(ragged() ? lead_[0] : length_, captures, {state_},
                   [&](Builder& inner, const auto& captured, const auto& states) {
                     size_t next = 3;
                     Step step = {captured[0], captured[1], captured[2], {}, {}, {}, inner.time()};
                     if (gated_) step.decay = captured[next++];
                     if (delta_) step.beta = captured[next++];
                     if (ragged()) step.owner = captured[next++];
                     return advance(inner, step, states[0], scale);
                   });
  }

  Builder::StepResult advance(Builder& b, const Step& step, const TensorRef& state, double scale) const {
    const auto decayed = [&](const Indices& i, const Scalar& row) {
      if (!gated_) return state(i);
      Indices at = token(step, row);
      at.push_back(i[1]);
      if (decay_per_key_) at.push_back(i[3]);
      return state(i) * step.decay(at);
    };
    const auto of_key = [&](const TensorRef& x, const Scalar& row, const Scalar& head, const Scalar& place) {
      Indices at = token(step, row);
      at.push_back(floor_div(head, group_));
      at.push_back(place);
      return x(at);
    };
    const Dims vectors = {rows(), heads_, value_size_};
    TensorRef retrieved;
    if (delta_) {
      retrieved = b.sum(vectors, {key_size_}, [&](const Indices& i, const Indices& r) {
        return decayed({sequence(step, i[0]), i[1], i[2], r[0]}, i[0]) * of_key(step.key, i[0], i[1], r[0]);
      });
    }
    const TensorRef added = b.map(vectors, [&](const Indices& i) {
      const Indices at = token(step, i[0]);
      const Scalar value = step.value(joined(at, {i[1], i[2]}));
      return delta_ ? step.beta(joined(at, {i[1]})) * (value - retrieved(i)) : value;
    });
    const TensorRef updated = b.map(state.dims(), [&](const Indices& i) {
      const Scalar row = ragged() ? b.integer(0) : i[0];
      const Scalar value = decayed(i, row) + added({row, i[1], i[2]}) * of_key(step.key, row, i[1], i[3]);
      return ragged() ? select(i[0] == sequence(step, row), value, state(i)) : value;
    });
    const TensorRef output = b.sum(vectors, {key_size_}, [&](const Indices& i, const Indices& r) {
      const Scalar element = updated({sequence(step, i[0]), i[1], i[2], r[0]});
      return element * of_key(step.query, i[0], i[1], r[0]) * scale;
    });
    return {{updated}, {output, added}};
  }

  /// What a sequence's first tokens did to its state, zero beyond those that are captured: all decays, then
  /// all keys, then all d.
  TensorRef state_update(const TensorRef& added) {
    const Dim capacity(capacity_), decays = decay_per_key_ ? heads_ * key_size_ : heads_;
    const Dim keys = key_heads_ * key_size_, values = heads_ * value_size_;
    const Dims dims = {batch_, capacity * (decays + keys + values)};
    if (capacity_ == 0) return b_.map(dims, [&](const Indices&) { return b_.literal(f32, 0); });
    const TensorRef counts = typed_operand(b_, context_, 9, {ElementType::i32});
    check_dims(context_, counts, {batch_}, "capture_count");
    TensorRef active;
    if (context_.has(10)) {
      active = typed_operand(b_, context_, 10, {ElementType::i32});
      check_dims(context_, active, {Dim(1)}, "state_update_active");
    }
    return b_.map(dims, [&](const Indices& i) {
      Scalar captured = cast(ElementType::i64, counts({i[0]}));
      if (active.defined()) captured = select(active({b_.integer(0)}) != 0, captured, b_.integer(0));
      const Scalar decay = captured_part(i, captured, Dim(0), decays, [&](const Captured& at) {
        if (!gated_) return b_.literal(f32, 1);
        const Indices place = decay_per_key_ ? at.within(key_size_) : Indices{at.column};
        return decay_.guarded(joined(at.token, place), at.exists, b_.literal(f32, 0));
      });
      const Scalar key = captured_part(i, captured, capacity * decays, keys, [&](const Captured& at) {
        return key_.guarded(joined(at.token, at.within(key_size_)), at.exists, b_.literal(f32, 0));
      });
      const Scalar value =
          captured_part(i, captured, capacity * (decays + keys), values, [&](const Captured& at) {
            return added.guarded(joined(at.step, at.within(value_size_)), at.exists, b_.literal(f32, 0));
          });
      const Scalar later = select(i[1] < capacity * (decays + keys), key, value);
      return select(i[1] < capacity * decays, decay, later);
    });
  }

  /// A number of state_update: of which token, and where its step has results.
  struct Captured {
    Indices token, step;
    Scalar column, exists;
    Indices within(const Dim& size) const { return {floor_div(column, size), floor_mod(column, size)}; }
  };
  /// Element i of state_update where it is in the part that begins at column `first`, with `width` numbers
  /// for each token; else zero. Where all sequences are equally long only the value depends on how many are
  /// captured, not what is read.
  template <typename Element>
  Scalar captured_part(const Indices& i, const Scalar& captured, const Dim& first, const Dim& width,
                       const Element& element) const {
    const Scalar place = i[1] - first;
    const Scalar step = floor_div(place, width);
    const Scalar in_part = logical_and(place >= 0, step < Dim(capacity_));
    Captured at = {{}, {}, floor_mod(place, width), {}};
    Scalar counts = logical_and(in_part, step < captured);
    if (ragged()) {
      const Scalar start = cast(ElementType::i64, starts_({i[0]}));
      const Scalar end = cast(ElementType::i64, starts_({i[0] + 1}));
      counts = logical_and(counts, step < end - start);
      at.exists = counts;
      at.token = {start + step};
      at.step = {start + step, b_.integer(0)};
    } else {
      at.exists = logical_and(in_part, step < length_);
      counts = logical_and(counts, at.exists);
      at.token = lead_.size() == 2 ? Indices{i[0], step} : Indices{i[0] * length_ + step};
      at.step = {step, i[0]};
    }
    return select(counts, element(at), b_.literal(f32, 0));
  }

  const OperatorContext& context_;
  Builder& b_;
  ElementType type_ = f32;
  bool gated_ = false, delta_ = false, decay_per_key_ = false;
  int64_t capacity_ = 0;
  Dims lead_;  ///< of the tokens: one row of all, or batch and length
  Dim batch_, length_, key_heads_, heads_, group_, key_size_, value_size_;
  TensorRef query_, key_, value_, decay_, beta_, state_;
  TensorRef starts_, owner_;  ///< where sequences have their own lengths
};

void gated_delta_net(const OperatorContext& context, Builder& b) { GatedDeltaNet(context, b).define(); }

}  // namespace

void microsoft_gated_delta_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "GatedDeltaNet", 1, gated_delta_net});
}

}  // namespace axrun::ir
