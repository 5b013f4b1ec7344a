// com.microsoft: GroupQueryAttention and SparseAttention, which attend to states that a cache holds.
#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_attention_parts.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Query heads share key and value heads in groups; states of earlier positions are in the past states, those
/// of the queries are new.
class CachedAttention {
 public:
  virtual ~CachedAttention() = default;

 protected:
  CachedAttention(const OperatorContext& context, Builder& b) : context_(context), b_(b) {}

  /// Query (B, S, heads * size) with key and value (B, S, groups * size), or all of them side by side in the
  /// query.
  void read_inputs() {
    heads_ = head_count(context_, "num_heads");
    groups_ = head_count(context_, "kv_num_heads");
    group_size_ = divided(context_, heads_, groups_, "num_heads");
    query_ = real_operand(b_, context_, 0);
    type_ = query_.type();
    context_.check(query_.rank() == 3, fmt::format("a query of shape {}", to_string(query_.dims())));
    batch_ = query_.dims()[0];
    length_ = query_.dims()[1];
    context_.check(context_.has(1) == context_.has(2), "key and value go together");
    if (context_.has(1)) {
      size_ = divided(context_, query_.dims()[2], heads_, "hidden size");
      const Dims dims = {batch_, length_, groups_ * size_};
      key_ = shaped_operand(b_, context_, 1, dims, "the key");
      value_ = shaped_operand(b_, context_, 2, dims, "the value");
    } else {
      size_ = divided(context_, query_.dims()[2], heads_ + groups_ * 2, "hidden size");
      key_ = value_ = query_;
      first_key_ = heads_ * size_;
      first_value_ = (heads_ + groups_) * size_;
    }
    context_.check(context_.has(3) == context_.has(4), "past_key and past_value go together");
    if (!context_.has(3)) return;
    past_key_ = real_operand(b_, context_, 3);
    context_.check(past_key_.rank() == 4,
                   fmt::format("past states of shape {}", to_string(past_key_.dims())));
    const Dims dims = {batch_, groups_, past_key_.dims()[2], size_};
    check_dims(context_, past_key_, dims, "past_key");
    past_value_ = shaped_operand(b_, context_, 4, dims, "past_value");
  }

  /// Inputs k and k + 1: cosines and sines by position.
  void read_rotation(int k) {
    cosines_ = real_operand(b_, context_, k);
    context_.check(cosines_.rank() == 2, "cos_cache must be a matrix");
    sines_ = shaped_operand(b_, context_, k + 1, cosines_.dims(), "sin_cache");
    context_.check(!context_.less(size_, cosines_.dims()[1] * 2), "the caches are wider than the heads");
    interleaved_ = flag(context_, "rotary_interleaved", false);
  }

  Scalar group(const Scalar& head) const { return floor_div(head, b_.extent(group_size_)); }

  /// Element (batch, head, position, component) of an input whose heads begin at column `first`.
  Scalar element(const TensorRef& x, const Dim& first, const Indices& i) const {
    return widen(x({i[0], i[2], i[1] * size_ + i[3] + first}));
  }
  Scalar turned(const TensorRef& x, const Dim& first, const Indices& i) const {
    if (!cosines_.defined()) return element(x, first, i);
    const Scalar place = position(i[0], i[2]);
    return rotated(
        i[3], cosines_.dims()[1], interleaved_,
        [&](const Scalar& component) {
          return element(x, first, {i[0], i[1], i[2], component});
        },
        [&](const Scalar& pair) {
          return widen(cosines_({place, pair}));
        },
        [&](const Scalar& pair) {
          return widen(sines_({place, pair}));
        });
  }
  Scalar query(const Indices& i) const { return turned(query_, Dim(0), i); }
  Scalar key(const Indices& i) const { return turned(key_, first_key_, i); }
  Scalar value(const Indices& i) const { return element(value_, first_value_, i); }

  /// Of that query, for its rotation.
  virtual Scalar position(const Scalar& batch, const Scalar& query) const = 0;

  /// Heads as attention wants them, of `keys` and `values` (B, groups, T, size).
  AttentionTerms terms(const TensorRef& keys, const TensorRef& values) const {
    AttentionTerms terms;
    terms.query = [this](const Indices& i) { return query(i); };
    terms.key = [=, this](const Indices& i) { return widen(keys({i[0], group(i[1]), i[2], i[3]})); };
    terms.value = [=, this](const Indices& i) { return widen(values({i[0], group(i[1]), i[2], i[3]})); };
    terms.scale = attention_scale(context_, b_, compute_type(type_), size_);
    return terms;
  }
  AttentionShape shape(const Dim& keys) const {
    AttentionShape shape;
    shape.batch = batch_;
    shape.heads = heads_;
    shape.queries = length_;
    shape.keys = keys;
    shape.key_size = shape.value_size = size_;
    return shape;
  }

  const OperatorContext& context_;
  Builder& b_;
  ElementType type_ = ElementType::f32;
  TensorRef query_, key_, value_, past_key_, past_value_, cosines_, sines_;
  Dim batch_, length_, size_, heads_, groups_, group_size_, first_key_, first_value_;
  bool interleaved_ = false;
};

/// Each sequence has its own length, seqlens_k + 1, which ends with the queries.
class GroupQueryAttention : public CachedAttention {
 public:
  GroupQueryAttention(const OperatorContext& context, Builder& b) : CachedAttention(context, b) {}

  void define() {
    for (int k : {12, 13}) {
      if (context_.has(k)) context_.unsupported("quantised states");
    }
    read_inputs();
    read_lengths();
    if (flag(context_, "do_rotary", false)) read_positions();
    read_logit_inputs();
    const TensorRef keys = present(past_key_, [&](const Indices& i) { return key(i); });
    const TensorRef values = present(past_value_, [&](const Indices& i) { return value(i); });
    AttentionTerms terms = this->terms(keys, values);
    terms.logit = [&](const Indices& i, const Scalar& product) { return logit(i, product); };
    if (sink_.defined()) {
      terms.sink = [&](const Scalar& head) { return widen(sink_({head})); };
    } else if (flag(context_, "smooth_softmax", false)) {
      terms.sink = [&](const Scalar&) { return b_.literal(compute_type(type_), 0); };
    }
    b_.output(converted(b_, attention(b_, shape(present_length_), terms).output, type_));
    if (context_.outputs() < 2) return;
    b_.output(keys);
    b_.output(values);
    if (context_.wants(3)) context_.unsupported("output 'output_qk'");
  }

 private:
  void read_lengths() {
    lengths_ = typed_operand(b_, context_, 5, {ElementType::i32});
    if (lengths_.rank() != 1) lengths_ = b_.reshape(lengths_, {product(lengths_.dims())});
    check_dims(context_, lengths_, {batch_}, "seqlens_k");
    const Dims total = context_.elements(6);
    context_.check(total.size() == 1, "total_sequence_length must be one number");
    total_ = total[0];
    present_length_ = past_key_.defined() ? max(past_key_.dims()[2], total_) : total_;
  }

  void read_positions() {
    read_rotation(7);
    if (!context_.has(9)) return;
    positions_ = typed_operand(b_, context_, 9, {ElementType::i64});
    check_dims(context_, positions_, {batch_, length_}, "position_ids");
  }

  void read_logit_inputs() {
    softcap_ = context_.real("softcap", 0);
    window_ = bounded_integer(context_, "local_window_size", -1, -1, int64_t{1} << 40);
    if (context_.has(10)) {
      bias_ = real_operand(b_, context_, 10);
      context_.check(bias_.rank() == 4, fmt::format("attention_bias of shape {}", to_string(bias_.dims())));
    }
    if (context_.has(11)) sink_ = shaped_operand(b_, context_, 11, {heads_}, "head_sink");
  }

  /// Length of the sequence with its queries.
  Scalar whole(const Scalar& batch) const { return cast(ElementType::i64, lengths_({batch})) + 1; }
  /// Positions before the first query: none in a prompt, whose queries are the whole sequence and perhaps
  /// padding.
  Scalar before(const Scalar& batch) const {
    const Scalar is_prompt = b_.extent(length_) == b_.extent(total_);
    return select(is_prompt, b_.integer(0), whole(batch) - length_);
  }

  Scalar position(const Scalar& batch, const Scalar& query) const override {
    if (positions_.defined()) return positions_({batch, query});
    const Scalar own = before(batch) + query;
    return select(own < whole(batch), own, b_.integer(1));
  }

  /// States of every position; zero beyond the sequence.
  TensorRef present(const TensorRef& past, const Builder::MapBody& added) const {
    const TensorRef fresh =
        b_.map({batch_, groups_, length_, size_}, [&](const Indices& i) { return cast(type_, added(i)); });
    return b_.map({batch_, groups_, present_length_, size_}, [&](const Indices& i) {
      const Scalar zero = b_.literal(type_, 0);
      const Scalar start = before(i[0]);
      const Scalar own = i[2] - start;
      const Scalar is_new = logical_and(own >= 0, own < length_);
      const Scalar recent = fresh.guarded({i[0], i[1], own, i[3]}, is_new, zero);
      if (!past.defined()) return recent;
      const Scalar is_old = logical_and(own < 0, i[2] < past.dims()[2]);
      return select(is_new, recent, past.guarded(i, is_old, zero));
    });
  }

  /// Keys after the query, and those that the window has left behind, are hidden.
  Scalar logit(const Indices& i, const Scalar& product) const {
    const Scalar newest = before(i[0]) + i[2];
    Scalar visible = i[3] <= newest;
    if (window_ > 0) visible = logical_and(visible, i[3] > newest - window_);
    Scalar value = product;
    if (softcap_ > 0) value = tanh(value / b_.literal(value.type(), softcap_)) * softcap_;
    if (bias_.defined()) value = value + bias_at(value.type(), i);
    return select(visible, value, b_.literal(value.type(), -std::numeric_limits<double>::infinity()));
  }

  /// attention_bias (B or 1, heads or 1, S, total).
  Scalar bias_at(ElementType type, const Indices& i) const {
    const Dims dims = {batch_, heads_, length_, total_};
    if (!context_.broadcasts_to(bias_.dims(), dims)) {
      context_.fail(fmt::format("attention_bias of shape {}", to_string(bias_.dims())));
    }
    const Scalar batch = context_.is(bias_.dims()[0], 1) ? b_.integer(0) : i[0];
    const Scalar head = context_.is(bias_.dims()[1], 1) ? b_.integer(0) : i[1];
    return cast(type, bias_.guarded({batch, head, i[2], i[3]}, i[3] < total_, b_.literal(bias_.type(), 0)));
  }

  TensorRef lengths_, positions_, bias_, sink_;
  Dim total_, present_length_;
  double softcap_ = 0;
  int64_t window_ = -1;
};

/// Queries see the blocks of keys that a layout lists, in compressed rows: row r of layout l lists columns
/// block_col_indices[l, block_row_indices[l, r] ...]. Heads use the layouts in turn. The caches are updated
/// where the queries are, and as long as before.
class SparseAttention : public CachedAttention {
 public:
  SparseAttention(const OperatorContext& context, Builder& b) : CachedAttention(context, b) {}

  void define() {
    read_inputs();
    context_.check(past_key_.defined(), "past_key and past_value are needed");
    block_ = bounded_integer(context_, "sparse_block_size", 0, 1, int64_t{1} << 30);
    read_layouts();
    read_lengths();
    if (flag(context_, "do_rotary", false)) read_rotation(9);
    const TensorRef keys = present(past_key_, [&](const Indices& i) { return key(i); });
    const TensorRef values = present(past_value_, [&](const Indices& i) { return value(i); });
    AttentionTerms terms = this->terms(keys, values);
    terms.logit = [&](const Indices& i, const Scalar& product) { return logit(i, product); };
    b_.output(converted(b_, attention(b_, shape(past_key_.dims()[2]), terms).output, type_));
    if (context_.outputs() < 2) return;
    b_.output(keys);
    b_.output(values);
  }

 private:
  void read_layouts() {
    const TensorRef starts = typed_operand(b_, context_, 5, {ElementType::i32});
    const TensorRef columns = typed_operand(b_, context_, 6, {ElementType::i32});
    context_.check(starts.rank() == 2 && columns.rank() == 2, "the indices of blocks must be matrices");
    layouts_ = starts.dims()[0];
    blocks_ = starts.dims()[1] - 1;
    context_.check(context_.may_be_at_least(layouts_, 1), "there are no layouts");
    context_.check(context_.equal(floor_mod(heads_, layouts_), Dim(0)),
                   "the layouts do not divide the heads");
    check_dims(context_, columns, {layouts_, columns.dims()[1]}, "block_col_indices");
    listed_ =
        b_.sum({layouts_, blocks_, blocks_}, {columns.dims()[1]}, [&](const Indices& i, const Indices& r) {
          const Scalar begin = cast(ElementType::i64, starts({i[0], i[1]}));
          const Scalar end = cast(ElementType::i64, starts({i[0], i[1] + 1}));
          const Scalar column = cast(ElementType::i64, columns({i[0], r[0]}));
          const Scalar is_listed = logical_and(logical_and(r[0] >= begin, r[0] < end), column == i[2]);
          return select(is_listed, b_.integer(1), b_.integer(0));
        });
  }

  void read_lengths() {
    const Dims total = context_.elements(7);
    context_.check(total.size() == 1, "total_sequence_length must be one number");
    total_ = total[0];
    context_.check(!context_.less(past_key_.dims()[2], total_), "the caches are too short");
    context_.check(!context_.less(blocks_ * block_, total_), "the layouts are too small");
    lengths_ = typed_operand(b_, context_, 8, {ElementType::i32});
    check_dims(context_, lengths_, {batch_}, "key_total_sequence_lengths");
  }

  /// Positions before the first query.
  Scalar before(const Scalar& batch) const {
    const Scalar is_prompt = b_.extent(length_) == b_.extent(total_);
    return select(is_prompt, b_.integer(0), cast(ElementType::i64, lengths_({batch})) - length_);
  }
  Scalar position(const Scalar& batch, const Scalar& query) const override { return before(batch) + query; }

  TensorRef present(const TensorRef& past, const Builder::MapBody& added) const {
    const TensorRef fresh =
        b_.map({batch_, groups_, length_, size_}, [&](const Indices& i) { return cast(type_, added(i)); });
    return b_.map(past.dims(), [&](const Indices& i) {
      const Scalar own = i[2] - before(i[0]);
      const Scalar is_new = logical_and(own >= 0, own < length_);
      return select(is_new, fresh.guarded({i[0], i[1], own, i[3]}, is_new, b_.literal(type_, 0)), past(i));
    });
  }

  /// Later keys do not exist; those that the layout leaves out get the lowest number.
  Scalar logit(const Indices& i, const Scalar& product) const {
    const ElementType type = product.type();
    const Scalar newest = before(i[0]) + i[2];
    const Scalar row = floor_div(newest, b_.integer(block_)), column = floor_div(i[3], b_.integer(block_));
    const Scalar layout = floor_mod(i[1], b_.extent(layouts_));
    const Scalar is_known = logical_and(logical_and(row >= 0, row < blocks_), column < blocks_);
    const Scalar is_listed = listed_.guarded({layout, row, column}, is_known, b_.integer(0)) > 0;
    const Scalar seen = select(is_listed, product, b_.literal(type, std::numeric_limits<float>::lowest()));
    return select(i[3] <= newest, seen, b_.literal(type, -std::numeric_limits<double>::infinity()));
  }

  int64_t block_ = 1;
  Dim layouts_, blocks_, total_;
  TensorRef listed_, lengths_;
};

void group_query_attention(const OperatorContext& context, Builder& b) {
  GroupQueryAttention(context, b).define();
}
void sparse_attention(const OperatorContext& context, Builder& b) { SparseAttention(context, b).define(); }

}  // namespace

void microsoft_group_query_operators(std::vector<OperatorEntry>& table) {
  table.push_back({microsoft_domain, "GroupQueryAttention", 1, group_query_attention});
  table.push_back({microsoft_domain, "SparseAttention", 1, sparse_attention});
  microsoft_rotary_operators(table);
}

}  // namespace axrun::ir
