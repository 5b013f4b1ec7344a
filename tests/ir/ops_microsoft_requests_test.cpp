// Operators on requests of unequal lengths, compared with what they do request by request, and hashes of
// tokens, compared with a plain loop over the schema's text.
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

Ints to_ints(const Tensor& tensor) { return tensor.to_ints(); }

/// Rows first .. last - 1 of a tensor.
Tensor rows(const Tensor& x, int64_t first, int64_t last) {
  Shape shape = x.shape();
  const int64_t width = x.size() / shape[0];
  shape[0] = last - first;
  Tensor result = Tensor::allocate(x.type(), shape);
  for (int64_t k = 0; k < result.size(); ++k) {
    if (is_float(x.type())) {
      result.set_real(k, x.get_real(first * width + k));
    } else {
      result.set_int(k, x.get_int(first * width + k));
    }
  }
  return result;
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  Tensor result = rows(x, 0, x.shape()[0]);
  Tensor other = Tensor::allocate(x.type(), shape);
  for (int64_t k = 0; k < result.size(); ++k) {
    if (is_float(x.type())) {
      other.set_real(k, x.get_real(k));
    } else {
      other.set_int(k, x.get_int(k));
    }
  }
  return other;
}

const Ints starts = {0, 1, 4, 9};

NodeUnderTest packed_convolution(const Ints& offsets, const Ints& captured) {
  NodeUnderTest node = microsoft("VarlenCausalConvWithState", captured.empty() ? 2 : 3);
  node.input(quarters({9, 2})).input(quarters({2, 1, 3}, 2));
  node.input(ints({static_cast<int64_t>(offsets.size())}, offsets, ElementType::i32))
      .input(quarters({2}, 0.5));
  node.input(quarters({3, 2, 4}, -1)).set("dilation", int64_t{2}).set("activation", "silu");
  if (captured.empty()) return node;
  node.input(ints({3}, captured, ElementType::i32)).set("state_update_capacity", int64_t{3});
  return node;
}

TEST(PackedRequests, ConvolutionIsThatOfEachRequest) {
  const auto results = packed_convolution(starts, {}).run_all();
  const Tensor x = quarters({9, 2}), states = quarters({3, 2, 4}, -1);
  for (size_t r = 0; r < 3; ++r) {
    const int64_t request = static_cast<int64_t>(r), length = starts[r + 1] - starts[r];
    const auto alone = microsoft("CausalConvWithState", 2)
                           .input(reshaped(rows(x, starts[r], starts[r + 1]), {1, length, 2}))
                           .input(quarters({2, 1, 3}, 2))
                           .input(quarters({2}, 0.5))
                           .input([&] {  // channels last
                             const Tensor state = rows(states, request, request + 1);
                             Tensor turned = Tensor::allocate(ElementType::f32, {1, 4, 2});
                             for (int64_t k = 0; k < 8; ++k)
                               turned.set_real(k % 4 * 2 + k / 4, state.get_real(k));
                             return turned;
                           }())
                           .set("dilation", int64_t{2})
                           .set("activation", "silu")
                           .set("channels_last", int64_t{1})
                           .run_all();
    EXPECT_EQ(to_reals(rows(results[0], starts[r], starts[r + 1])), to_reals(alone[0])) << r;
    const Tensor last = rows(results[1], request, request + 1);
    for (int64_t k = 0; k < 8; ++k) EXPECT_EQ(last.get_real(k), alone[1].get_real(k % 4 * 2 + k / 4)) << r;
  }
}

TEST(PackedRequests, PrefixesAreCaptured) {
  const Tensor captured = packed_convolution(starts, {5, 2, -1}).run_all()[2];
  const Tensor x = quarters({9, 2});
  ASSERT_EQ(captured.shape(), (Shape{3, 3, 2}));
  for (int64_t k = 0; k < captured.size(); ++k) {
    const int64_t request = k / 6, slot = k / 2 % 3, used = request == 0 ? 1 : request == 1 ? 2 : 0;
    const double value =
        slot < used ? x.get_real((starts[static_cast<size_t>(request)] + slot) * 2 + k % 2) : 0;
    EXPECT_EQ(captured.get_real(k), value) << k;
  }
}

TEST(PackedRequests, OffsetsThatAreNoneAreRefused) {
  for (const Ints& wrong : {Ints{0, 1, 4, 8}, Ints{1, 2, 4, 9}, Ints{0, 4, 4, 9}, Ints{0, 5, 4, 9},
                            Ints{0, -1, 4, 9}, Ints{0, 1, 1000000, 9}, Ints{9}}) {
    EXPECT_THROW(packed_convolution(wrong, {}).run_all(), Error) << wrong[0] << " " << wrong.size();
  }
  EXPECT_THROW(packed_convolution(starts, {}).set("state_update_capacity", int64_t{1}).run_all(), Error);
  EXPECT_THROW(packed_convolution(starts, {1, 1, 1}).set("state_update_capacity", int64_t{9}).run_all(),
               Error);
}

/// The text of the schemas, one sequence, with wrapped 64-bit arithmetic.
struct Hash {
  Ints multipliers, sizes, offsets;
  int64_t order = 3, heads = 2, pad = 7;
  std::optional<int64_t> end;
  bool resets = false;

  Ints of(const Ints& past, const Ints& past_segments, const Ints& ids, const Ints& segments) const {
    const int64_t history = order - 1;
    Ints all = past;
    if (all.empty()) all.assign(static_cast<size_t>(history), end.value_or(pad));
    all.insert(all.end(), ids.begin(), ids.end());
    Ints kinds = past_segments;
    if (kinds.empty() && !segments.empty()) kinds.assign(static_cast<size_t>(history), segments[0]);
    kinds.insert(kinds.end(), segments.begin(), segments.end());
    Ints result;
    for (size_t at = static_cast<size_t>(history); at < all.size(); ++at) {
      for (int64_t n = 2; n <= order; ++n) {
        uint64_t mix = 0;
        bool is_cut = false;
        for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
          if (k > 0 && resets && all[at - k] == *end) is_cut = true;
          if (k > 0 && !kinds.empty() && kinds[at - k] != kinds[at - k + 1]) is_cut = true;
          const int64_t token = is_cut ? end.value_or(pad) : all[at - k];
          mix ^= static_cast<uint64_t>(token) * static_cast<uint64_t>(multipliers[k]);
        }
        for (int64_t h = 0; h < heads; ++h) {
          const auto head = static_cast<size_t>((n - 2) * heads + h);
          int64_t hash = static_cast<int64_t>(mix) % sizes[head];
          if (hash < 0) hash += sizes[head];
          if (!offsets.empty())
            hash = static_cast<int64_t>(static_cast<uint64_t>(hash) + static_cast<uint64_t>(offsets[head]));
          result.push_back(hash);
        }
      }
    }
    return result;
  }

  NodeUnderTest& finish(NodeUnderTest& node) const {
    offsets.empty() ? node.absent_input() : node.input(ints({4}, offsets));
    end ? node.input(ints({}, {*end})) : node.absent_input();
    node.set("max_ngram_size", order).set("n_head_per_ngram", heads).set("pad_id", pad);
    return node.set("reset_on_eos", int64_t{resets});
  }
};

Hash plain_hash() {
  return {{1000003, -77, 4611686018427387905}, {11, 1000000007, 13, 17}, {}, 3, 2, 7, {}, false};
}

TEST(NGramHash, IsThatOfTheText) {
  const Ints ids = {5, -6, 2, 2, 9, 0, 2, 4, 4}, past = {2, 3}, segments = {0, 0, 0, 1, 1, 1, 1, 0, 0};
  for (int variant = 0; variant < 16; ++variant) {
    Hash hash = plain_hash();
    if (variant & 1) hash.end = 2, hash.resets = (variant & 4) != 0;
    if (variant & 2) hash.offsets = {5, std::numeric_limits<int64_t>::max(), 0, -3};
    const Ints before = variant & 8 ? past : Ints{}, kinds = variant & 4 ? segments : Ints{};
    NodeUnderTest node = microsoft("NGramHashMapping", 2);
    node.input(ints({1, 9}, ids)).input(ints({3}, hash.multipliers)).input(ints({4}, hash.sizes));
    before.empty() ? node.absent_input() : node.input(ints({1, 2}, before));
    hash.finish(node);
    if (!kinds.empty()) node.input(ints({1, 9}, kinds, ElementType::i32));
    const auto results = node.run_all();
    EXPECT_EQ(results[0].shape(), (Shape{1, 9, 4}));
    EXPECT_EQ(to_ints(results[0]), hash.of(before, {}, ids, kinds)) << variant;
    EXPECT_EQ(to_ints(results[1]), (Ints{4, 4}));
  }
}

TEST(NGramHash, ShortCallsLeavePastIdsInPlace) {
  NodeUnderTest node = microsoft("NGramHashMapping", 2);
  const Hash hash = plain_hash();
  node.input(ints({1, 1}, {5})).input(ints({3}, hash.multipliers)).input(ints({4}, hash.sizes));
  EXPECT_EQ(to_ints(hash.finish(node.input(ints({1, 2}, {1, 2}))).run_all()[1]), (Ints{2, 5}));
}

TEST(NGramHash, PackedIsThatOfEachRequest) {
  const Ints ids = {5, -6, 2, 2, 9, 0, 2, 4, 4}, segments = {0, 1, 0, 1, 1, 1, 1, 0, 0};
  const Ints past = {2, 3, 1, 2, 9, 9}, kinds = {0, 0, 1, 0, 1, 1};
  for (int variant = 0; variant < 8; ++variant) {
    Hash hash = plain_hash();
    hash.end = 2;
    hash.resets = (variant & 1) != 0;
    NodeUnderTest node = microsoft("VarlenNGramHashMapping", 4);
    node.input(ints({9}, ids)).input(ints({3}, hash.multipliers)).input(ints({4}, hash.sizes));
    node.input(ints({4}, starts, ElementType::i32));
    variant & 2 ? node.input(ints({3, 2}, past)) : node.absent_input();
    hash.finish(node).input(ints({9}, segments, ElementType::i32));
    variant & 4 ? node.input(ints({3, 2}, kinds, ElementType::i32)) : node.absent_input();
    node.input(ints({3}, {1, 9, 0}, ElementType::i32)).set("state_update_capacity", int64_t{3});
    const auto results = node.run_all();
    Ints want, last, last_kinds, states;
    for (size_t r = 0; r < 3; ++r) {
      const auto own = [&](const Ints& list) {
        return Ints(list.begin() + starts[r], list.begin() + starts[r + 1]);
      };
      const auto before = [&](const Ints& list) {
        return Ints(list.begin() + static_cast<int64_t>(r) * 2,
                    list.begin() + static_cast<int64_t>(r) * 2 + 2);
      };
      const Ints given = variant & 2 ? before(past) : Ints{2, 2};
      const Ints given_kinds =
          variant & 4 ? before(kinds) : Ints(2, segments[static_cast<size_t>(starts[r])]);
      for (int64_t hash_id : hash.of(given, given_kinds, own(ids), own(segments))) want.push_back(hash_id);
      Ints all = given, all_kinds = given_kinds;
      for (int64_t k = starts[r]; k < starts[r + 1]; ++k) {
        all.push_back(ids[static_cast<size_t>(k)]);
        all_kinds.push_back(segments[static_cast<size_t>(k)]);
      }
      last.insert(last.end(), all.end() - 2, all.end());
      last_kinds.insert(last_kinds.end(), all_kinds.end() - 2, all_kinds.end());
      const Ints counts = {1, 9, 0};
      for (size_t slot = 0; slot < 3; ++slot) {
        const bool used = static_cast<int64_t>(slot) < counts[r] && slot + 3 <= all.size();
        for (size_t j = 0; j < 2; ++j) states.push_back(used ? all[slot + 1 + j] : 7);
      }
    }
    EXPECT_EQ(to_ints(results[0]), want) << variant;
    EXPECT_EQ(to_ints(results[1]), last) << variant;
    EXPECT_EQ(to_ints(results[2]), last_kinds) << variant;
    EXPECT_EQ(to_ints(results[3]), states) << variant;
  }
}

TEST(PackedRequests, SizesMayBeUnknown) {
  const Dim tokens = Dim::symbol("tokens"), length = Dim::symbol("length"), batch = Dim::symbol("batch");
  EXPECT_EQ(packed_convolution(starts, {}).output_dims(0, {tokens, Dim(2)}), (Dims{tokens, Dim(2)}));
  const Hash hash = plain_hash();
  NodeUnderTest node = microsoft("NGramHashMapping");
  node.input(ints({1, 1}, {5}))
      .input(ints({3}, hash.multipliers))
      .input(ints({4}, hash.sizes))
      .absent_input();
  EXPECT_EQ(hash.finish(node).output_dims(0, {batch, length}), (Dims{batch, length, Dim(4)}));
}

TEST(NGramHash, RefusesWhatMakesNoHash) {
  const auto run = [](int64_t order, int64_t heads, const Ints& sizes, int64_t multipliers) {
    return microsoft("NGramHashMapping")
        .input(ints({1, 2}, {1, 2}))
        .input(ints({multipliers}, Ints(static_cast<size_t>(multipliers), 3)))
        .input(ints({static_cast<int64_t>(sizes.size())}, sizes))
        .set("max_ngram_size", order)
        .set("n_head_per_ngram", heads)
        .set("pad_id", int64_t{0})
        .run();
  };
  EXPECT_EQ(to_ints(run(2, 1, {5}, 3)), (Ints{3, (2 * 3 ^ 1 * 3) % 5}));
  EXPECT_THROW(run(1, 1, {5}, 2), Error);
  EXPECT_THROW(run(2, 0, {5}, 2), Error);
  EXPECT_THROW(run(2, 1, {5, 5}, 2), Error);
  EXPECT_THROW(run(3, 1, {5, 5}, 2), Error);
  EXPECT_THROW(run(2, 1, {0}, 2), Error);
  EXPECT_THROW(run(2, 1, {-5}, 2), Error);
  EXPECT_THROW(run(int64_t{1} << 40, 1, {5}, 2), Error);
}

}  // namespace
}  // namespace axrun::ir::test
