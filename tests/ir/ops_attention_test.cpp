#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.size(), b.size());
  for (int64_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a.get_real(k), b.get_real(k), 1e-12) << k;
}

TEST(Attention, AgreesWithLoopsForGroupedHeads) {
  std::mt19937 random(11);
  const int64_t heads = 4, kv_heads = 2, queries = 3, keys = 5, size = 2;
  const Tensor q = random_reals(random, {1, heads, queries, size}, 2);
  const Tensor k = random_reals(random, {1, kv_heads, keys, size}, 2);
  const Tensor v = random_reals(random, {1, kv_heads, keys, size}, 2);
  const Tensor y = NodeUnderTest("Attention", 23).input(q).input(k).input(v).run();
  for (int64_t h = 0; h < heads; ++h) {
    const int64_t g = h / 2;
    for (int64_t i = 0; i < queries; ++i) {
      Reals weights;
      double total = 0;
      for (int64_t j = 0; j < keys; ++j) {
        double score = 0;
        for (int64_t d = 0; d < size; ++d) {
          score += q.get_real((h * queries + i) * size + d) * k.get_real((g * keys + j) * size + d);
        }
        weights.push_back(std::exp(score / std::sqrt(2.0)));
        total += weights.back();
      }
      for (int64_t d = 0; d < size; ++d) {
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          sum += weights[static_cast<size_t>(j)] / total * v.get_real((g * keys + j) * size + d);
        }
        EXPECT_NEAR(y.get_real((h * queries + i) * size + d), sum, 1e-12);
      }
    }
  }
}

TEST(Attention, PackedHeadsAreATransposition) {
  // With one position per sequence both layouts hold the same numbers.
  std::mt19937 random(12);
  const Tensor q = random_reals(random, {2, 2, 1, 3}, 2);
  const Tensor k = random_reals(random, {2, 2, 1, 3}, 2);
  const Tensor v = random_reals(random, {2, 2, 1, 3}, 2);
  NodeUnderTest packed("Attention", 23);
  packed.input(q.reshaped({2, 1, 6})).input(k.reshaped({2, 1, 6})).input(v.reshaped({2, 1, 6}));
  EXPECT_THROW(packed.run(), Error);
  const Tensor y = packed.set("q_num_heads", int64_t{2}).set("kv_num_heads", int64_t{2}).run();
  EXPECT_EQ(y.shape(), (Shape{2, 1, 6}));
  expect_close(y, NodeUnderTest("Attention", 23).input(q).input(k).input(v).run());
}

/// Keys and queries of zeros: every allowed key has the same weight, so results are means of values.
struct Uniform {
  NodeUnderTest node;
  Uniform(int version, int64_t queries, const Reals& values, int outputs = 1)
      : node("Attention", version, outputs) {
    const auto keys = static_cast<int64_t>(values.size());
    node.input(Tensor::allocate(ElementType::f32, {1, 1, queries, 1}));
    node.input(Tensor::allocate(ElementType::f32, {1, 1, keys, 1}));
    node.input(reals({1, 1, keys, 1}, values));
  }
};

TEST(Attention, MasksAndCausality) {
  Uniform causal(23, 3, {3, 9, 30});
  EXPECT_EQ(to_reals(causal.node.set("is_causal", int64_t{1}).run()), (Reals{3, 6, 14}));
  Uniform masked(23, 3, {3, 9, 30});
  masked.node.input(ints({3, 3}, {1, 0, 1, 0, 0, 0, 0, 1, 0}, ElementType::boolean));
  EXPECT_EQ(to_reals(masked.node.run()), (Reals{16.5, 0, 9}));
  Uniform added(23, 1, {3, 9});
  added.node.input(reals({1, 2}, {0, -inf}));
  EXPECT_EQ(to_reals(added.node.run()), Reals{3});
  Uniform window(25, 3, {3, 9, 30});
  window.node.set("left_window_size", int64_t{1}).set("right_window_size", int64_t{0});
  EXPECT_EQ(to_reals(window.node.run()), (Reals{3, 6, 19.5}));
  Uniform shorter(24, 1, {3, 9, 30});
  shorter.node.input(ints({1, 2}, {1, 1}, ElementType::boolean));
  EXPECT_EQ(to_reals(shorter.node.run()), Reals{6});
}

TEST(Attention, PastAndPresent) {
  Uniform u(23, 1, {30}, 3);
  u.node.absent_input()
      .input(Tensor::allocate(ElementType::f32, {1, 1, 2, 1}))
      .input(reals({1, 1, 2, 1}, {3, 9}));
  const std::vector<Tensor> y = u.node.set("is_causal", int64_t{1}).run_all();
  EXPECT_EQ(to_reals(y[0]), Reals{14});
  EXPECT_EQ(y[1].shape(), (Shape{1, 1, 3, 1}));
  EXPECT_EQ(to_reals(y[2]), (Reals{3, 9, 30}));
  Uniform half(23, 1, {30});
  half.node.absent_input().input(Tensor::allocate(ElementType::f32, {1, 1, 2, 1}));
  EXPECT_THROW(half.node.run(), Error);
}

TEST(Attention, ValidLengthsOfAnExternalCache) {
  Uniform u(24, 1, {3, 9, 30});
  u.node.absent_input().absent_input().absent_input().input(ints({1}, {2}));
  EXPECT_EQ(to_reals(u.node.run()), Reals{6});
  EXPECT_EQ(to_reals(u.node.set("is_causal", int64_t{1}).run()), Reals{6});
}

TEST(Attention, ScoresAtEveryStage) {
  const auto scores = [](int64_t mode) {
    NodeUnderTest node("Attention", 23, 4);
    node.input(reals({1, 1, 1, 1}, {2}))
        .input(reals({1, 1, 2, 1}, {1, 3}))
        .input(reals({1, 1, 2, 1}, {0, 0}));
    node.input(reals({1, 2}, {10, 0})).set_real("softcap", 4).set("qk_matmul_output_mode", mode);
    return to_reals(node.run_all()[3]);
  };
  EXPECT_EQ(scores(0), (Reals{2, 6}));
  EXPECT_NEAR(scores(1)[1], 4 * std::tanh(1.5), 1e-6);
  EXPECT_NEAR(scores(2)[0], 4 * std::tanh(0.5) + 10, 1e-6);
  EXPECT_NEAR(scores(3)[0] + scores(3)[1], 1, 1e-6);
}

TEST(RotaryEmbedding, TurnsPairsByTheAngleOfThePosition) {
  // A quarter turn takes (a, b) to (-b, a). The last two elements are not rotated.
  const Tensor x = reals({1, 1, 2, 6}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  const auto turned = [&](int64_t interleaved) {
    NodeUnderTest node("RotaryEmbedding", 23);
    node.input(x).input(reals({2, 2}, {0, 0, 1, 1})).input(reals({2, 2}, {1, 1, 0, 0}));
    node.input(ints({1, 2}, {1, 0})).set("rotary_embedding_dim", int64_t{4});
    return to_reals(node.set("interleaved", interleaved).run());
  };
  EXPECT_EQ(turned(0), (Reals{1, 2, 3, 4, 5, 6, -3, -4, 1, 2, 5, 6}));
  EXPECT_EQ(turned(1), (Reals{1, 2, 3, 4, 5, 6, -2, 1, -4, 3, 5, 6}));
}

TEST(LinearAttention, GatedDeltaRule) {
  // One head of one element: S = e^g S + beta k (v - e^g S k), o = q S.
  NodeUnderTest node("LinearAttention", 27, 2);
  node.input(reals({1, 2, 1}, {1, 2})).input(reals({1, 2, 1}, {1, 0.5})).input(reals({1, 2, 1}, {3, 5}));
  node.input(reals({1, 1, 1, 1}, {4})).input(reals({1, 2, 1}, {0, -inf})).input(reals({1, 2, 1}, {0.5, 1}));
  node.set("q_num_heads", int64_t{1}).set("kv_num_heads", int64_t{1}).set_real("scale", 1);
  const std::vector<Tensor> y = node.run_all();
  EXPECT_EQ(to_reals(y[0]), (Reals{3.5, 5}));
  EXPECT_EQ(to_reals(y[1]), Reals{2.5});
  EXPECT_THROW(node.set("update_rule", "linear").run(), Error);
}

TEST(CausalConvWithState, ContinuesWhereItStopped) {
  const Tensor w = reals({1, 1, 3}, {100, 10, 1});
  const auto convolved = [&](const Tensor& x, const Tensor& state) {
    NodeUnderTest node("CausalConvWithState", 27, 2);
    node.input(x).input(w).absent_input();
    if (state.defined()) node.input(state);
    return node.run_all();
  };
  const auto whole = convolved(reals({1, 1, 3}, {1, 2, 3}), {});
  EXPECT_EQ(to_reals(whole[0]), (Reals{1, 12, 123}));
  const auto first = convolved(reals({1, 1, 1}, {1}), {});
  EXPECT_EQ(to_reals(first[1]), (Reals{0, 1}));
  const auto rest = convolved(reals({1, 1, 2}, {2, 3}), first[1]);
  EXPECT_EQ(to_reals(rest[0]), (Reals{12, 123}));
  EXPECT_EQ(to_reals(rest[1]), to_reals(whole[1]));
}

}  // namespace
}  // namespace axrun::ir::test
