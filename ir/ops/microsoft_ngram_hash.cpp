// com.microsoft: NGramHashMapping and VarlenNGramHashMapping, hashes of the last tokens at every position.
//
// The hash of order n at a position is ((t0 m0) ^ (t1 m1) ^ ... ^ (t(n-1) m(n-1))) mod size, where tk is the
// token k places back. What a call does not have comes from the calls before, past_ids. Behind a boundary all
// tokens are replaced: the nearest end-of-sequence token further back than the position itself, where the
// attribute reset_on_eos says so, or the nearest place where segment_ids change.
#include <fmt/format.h>

#include <limits>

#include "ir/ops/compute.h"
#include "ir/ops/microsoft.h"
#include "ir/ops/microsoft_requests.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

using enum ElementType;

/// What both operators have; `k` gives the inputs' numbers in their order.
struct HashNode {
  HashNode(const OperatorContext& context, Builder& b, const std::vector<int>& k) {
    constexpr int64_t most = int64_t{1} << 30;
    ids = typed_operand(b, context, 0, {i32, i64});
    type = ids.type();
    for (const char* name : {"max_ngram_size", "n_head_per_ngram", "pad_id"}) {
      context.check(context.has_attribute(name), fmt::format("attribute '{}' is missing", name));
    }
    order = bounded_integer(context, "max_ngram_size", 0, 2, most);
    heads = bounded_integer(context, "n_head_per_ngram", 0, 1, most);
    const bool is_narrow = type == i32;
    pad = bounded_integer(
        context, "pad_id", 0,
        is_narrow ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min(),
        is_narrow ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max());
    multipliers = typed_operand(b, context, 1, {type});
    require_rank(context, 1, 1);
    context.check(!context.less(multipliers.dims()[0], Dim(order)),
                  fmt::format("{} multipliers for {} tokens", multipliers.dims()[0].to_string(), order));
    sizes = typed_operand(b, context, 2, {type});
    check_dims(context, sizes, {Dim(order - 1) * heads}, "vocab_sizes");
    if (context.has(k[0])) past = typed_operand(b, context, k[0], {type});
    if (context.has(k[1])) {
      offsets = typed_operand(b, context, k[1], {type});
      check_dims(context, offsets, sizes.dims(), "head_offsets");
    }
    if (context.has(k[2])) {
      end = typed_operand(b, context, k[2], {type});
      check_dims(context, end, {}, "eos_token_id");
      resets = flag(context, "reset_on_eos", false);
    }
    if (context.has(k[3])) {
      segments = typed_operand(b, context, k[3], {i32});
      check_dims(context, segments, ids.dims(), "segment_ids");
    }
  }

  int64_t history() const { return order - 1; }
  /// What stands where there is no token, or none that counts.
  Scalar missing(Builder& b) const { return end.defined() ? end({}) : b.integer(pad, type); }

  TensorRef ids, multipliers, sizes;
  TensorRef past, offsets, end, segments;  ///< or undefined
  ElementType type = i64;
  int64_t order = 2;
  int64_t heads = 1;
  int64_t pad = 0;
  bool resets = false;
};

/// The tokens around a position of `ids`.
struct Surroundings {
  /// The token `back` places back, at most the history.
  std::function<Scalar(const Indices& i, const Scalar& back)> token;
  /// Whether a segment ends with that token; nothing where there are no segments.
  std::function<Scalar(const Indices& i, const Scalar& back)> ends_segment;
};

void define_hashes(Builder& b, const HashNode& node, const Surroundings& around) {
  const Dims& dims = node.ids.dims();
  const size_t rank = dims.size();
  TensorRef boundary;  // how far back the nearest one is; beyond the history where there is none
  if (node.resets || around.ends_segment) {
    boundary =
        b.reduce(Monoid::Kind::min, dims, {Dim(node.history())}, [&](const Indices& i, const Indices& r) {
          const Scalar back = r[0] + 1;
          Scalar is_one = b.boolean(false);
          if (node.resets) is_one = around.token(i, back) == node.missing(b);
          if (around.ends_segment) is_one = logical_or(is_one, around.ends_segment(i, back));
          return select(is_one, back, b.integer(node.order));
        });
  }
  const TensorRef product = b.map(joined(dims, {Dim(node.order)}), [&](const Indices& i) {
    const Indices at = part(i, 0, rank);
    Scalar token = around.token(at, i.back());
    if (boundary.defined()) token = select(i.back() >= boundary(at), node.missing(b), token);
    return token * node.multipliers({i.back()});
  });
  const Scalar nothing = b.integer(0, node.type);
  const TensorRef mixed = b.reduce_tuple(
      joined(dims, {Dim(node.history())}), {Dim(node.order)}, {nothing},
      [&](const Indices& i, const Indices& r) {
        const Scalar value = product(joined(part(i, 0, rank), {r[0]}));
        return std::vector<Scalar>{select(r[0] < i.back() + 2, value, nothing)};
      },
      [](const std::vector<Scalar>& left, const std::vector<Scalar>& right) {
        return std::vector<Scalar>{binary(ScalarOp::bit_xor, left[0], right[0])};
      })[0];
  std::vector<std::vector<int>> merged;
  for (size_t d = 0; d < rank; ++d) merged.push_back({static_cast<int>(d)});
  merged.push_back({static_cast<int>(rank), static_cast<int>(rank) + 1});
  b.output(b.map_grouped(
      joined(dims, {Dim(node.history()), Dim(node.heads)}), merged,
      [&](const Indices& i) {
        const Scalar head = i[rank] * node.heads + i[rank + 1];
        const Scalar size = node.sizes({head});
        // A size that is not positive is an error of the user's, as every division by 0.
        const Scalar hash = floor_mod(mixed(part(i, 0, rank + 1)), max(size, nothing));
        return node.offsets.defined() ? hash + node.offsets({head}) : hash;
      },
      "hash_ids"));
}

/// Inputs: input_ids [batch, length], multipliers, vocab_sizes, past_ids [batch, history], head_offsets,
/// eos_token_id, segment_ids.
void ngram_hash_mapping(const OperatorContext& context, Builder& b) {
  const HashNode node(context, b, {3, 4, 5, 6});
  require_rank(context, 0, 2);
  const Dims& dims = node.ids.dims();
  const Dims state_dims = {dims[0], Dim(node.history())};
  if (node.past.defined()) check_dims(context, node.past, state_dims, "past_ids");
  // The token at a place that may lie before the first one.
  const auto token_at = [&](const Scalar& row, const Scalar& place) {
    const Scalar is_own = place >= 0, nothing = b.integer(0, node.type);
    const Scalar before = node.past.defined()
                              ? node.past.guarded({row, place + node.history()}, !is_own, nothing)
                              : node.missing(b);
    return select(is_own, node.ids.guarded({row, place}, is_own, nothing), before);
  };
  Surroundings around;
  around.token = [&](const Indices& i, const Scalar& back) { return token_at(i[0], i[1] - back); };
  if (node.segments.defined()) {
    around.ends_segment = [&](const Indices& i, const Scalar& back) {
      const Scalar place = i[1] - back, is_own = place >= 0, nothing = b.integer(0, i32);
      return node.segments.guarded({i[0], place}, is_own, nothing) !=
             node.segments.guarded({i[0], place + 1}, is_own, nothing);
    };
  }
  define_hashes(b, node, around);
  if (!context.wants(1)) return;
  b.output(
      b.map(state_dims, [&](const Indices& i) { return token_at(i[0], i[1] + (dims[1] - node.history())); }));
}

/// The same for requests one after the other: input_ids [tokens], multipliers, vocab_sizes, offsets of the
/// requests, past_ids [requests, history], head_offsets, eos_token_id, segment_ids [tokens],
/// past_segment_ids [requests, history], capture_count.
void varlen_ngram_hash_mapping(const OperatorContext& context, Builder& b) {
  const HashNode node(context, b, {4, 5, 6, 7});
  require_rank(context, 0, 1);
  const PackedRequests requests(context, b, 3, node.ids.dims()[0]);
  const Dim history(node.history());
  const Dims state_dims = {requests.count(), history};
  if (node.past.defined()) check_dims(context, node.past, state_dims, "past_ids");
  TensorRef past_segments;
  if (context.has(8)) {
    context.check(node.segments.defined(), "past_segment_ids without segment_ids");
    past_segments = typed_operand(b, context, 8, {i32});
    check_dims(context, past_segments, state_dims, "past_segment_ids");
  }
  const CapturedPrefixes captured(context, b, 9, requests);
  // At a place of a request, which may lie before its first one.
  const auto value_at = [&](const TensorRef& own, const TensorRef& past, const Scalar& request,
                            const Scalar& place, const Scalar& otherwise) {
    const Scalar is_own = place >= 0, nothing = b.integer(0, own.type());
    const Scalar before =
        past.defined() ? past.guarded({request, place + history}, !is_own, nothing) : otherwise;
    return select(is_own, own.guarded({requests.start(request) + place}, is_own, nothing), before);
  };
  const auto token_at = [&](const Scalar& request, const Scalar& place) {
    return value_at(node.ids, node.past, request, place, node.missing(b));
  };
  const auto segment_at = [&](const Scalar& request, const Scalar& place) {
    return value_at(node.segments, past_segments, request, place, node.segments({requests.start(request)}));
  };
  Surroundings around;
  around.token = [&](const Indices& i, const Scalar& back) {
    const Scalar request = requests.of(i[0]);
    return token_at(request, i[0] - requests.start(request) - back);
  };
  if (node.segments.defined()) {
    around.ends_segment = [&](const Indices& i, const Scalar& back) {
      const Scalar request = requests.of(i[0]);
      const Scalar place = i[0] - requests.start(request) - back;
      return segment_at(request, place) != segment_at(request, place + 1);
    };
  }
  define_hashes(b, node, around);
  const int last = wanted_outputs(context);
  if (last > 1) {
    b.output(b.map(state_dims,
                   [&](const Indices& i) { return token_at(i[0], requests.length(i[0]) + i[1] - history); }));
  }
  if (last > 2) {
    context.check(!context.wants(2) || node.segments.defined(),
                  "present_segment_ids is wanted, but there are no segment_ids");
    b.output(b.map(state_dims, [&](const Indices& i) {
      if (!node.segments.defined()) return b.integer(0, i32);  // unread
      return segment_at(i[0], requests.length(i[0]) + i[1] - history);
    }));
  }
  if (last > 3) {
    context.check(captured.capacity() > 0, "state_update is wanted, but state_update_capacity is 0");
    b.output(b.map({requests.count(), Dim(captured.capacity()), history}, [&](const Indices& i) {
      const Scalar is_used = captured.is_used(i[0], i[1]);
      const Scalar place = select(is_used, i[1] + 1 + i[2] - history, b.integer(-1));
      return select(is_used, token_at(i[0], place), b.integer(node.pad, node.type));
    }));
  }
}

}  // namespace

void microsoft_ngram_hash_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {{microsoft_domain, "NGramHashMapping", 1, ngram_hash_mapping},
                             {microsoft_domain, "VarlenNGramHashMapping", 1, varlen_ngram_hash_mapping}});
}

}  // namespace axrun::ir
