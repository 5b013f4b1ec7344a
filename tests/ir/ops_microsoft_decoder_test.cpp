// Operators of com.microsoft that decode from states in buffers: attention and GatedDeltaNet.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

/// One head of one component; keys 0 and ln 3 get probabilities of 1/4 and 3/4.
NodeUnderTest two_keys(int64_t past, int outputs = 4) {
  return microsoft("DecoderMaskedMultiHeadAttention", outputs)
      .input(reals({1, 1, 1}, {1}))
      .input(reals({1, 1, 1}, {std::log(3.0)}))
      .input(reals({1, 1, 1}, {8}))
      .absent_input()
      .absent_input()
      .input(reals({1, 1, 4, 1}, {0, nan, nan, nan}))
      .input(reals({1, 1, 4, 1}, {4, nan, nan, nan}))
      .input(ints({1}, {past}, ElementType::i32))
      .set("num_heads", int64_t{1})
      .set("past_present_share_buffer", int64_t{1});
}

TEST(DecoderAttention, TheBufferMayHoldAnythingBeyondItsEnd) {
  const auto results = two_keys(1).run_all();
  expect_near(results[0], {7});
  EXPECT_EQ(results[1].shape(), (Shape{1, 1, 4, 1}));
  EXPECT_EQ(results[1].get_real(0), 0);
  EXPECT_FLOAT_EQ(static_cast<float>(results[1].get_real(1)), std::log(3.0F));
  EXPECT_TRUE(std::isnan(results[1].get_real(2)));
  EXPECT_EQ(results[2].get_real(1), 8);
  EXPECT_EQ(results[3].shape(), (Shape{1, 1, 1, 2}));
  expect_near(results[3], {0, std::log(3.0)});
  expect_near(two_keys(0).run_all()[0], {8});
}

TEST(DecoderAttention, StatesThatDoNotFitAreRefused) {
  EXPECT_THROW(two_keys(4).run_all(), Error);
  EXPECT_THROW(two_keys(-1).run_all(), Error);
  EXPECT_NO_THROW(two_keys(1).set("past_present_share_buffer", int64_t{0}).run_all());  // all of it is past
  EXPECT_THROW(microsoft("DecoderMaskedMultiHeadAttention")
                   .input(quarters({1, 2, 2}))
                   .input(quarters({1, 2, 2}))
                   .input(quarters({1, 2, 2}))
                   .set("num_heads", int64_t{1})
                   .run(),
               Error);
}

TEST(DecoderAttention, MasksAndBiasesHaveAColumnForEachKey) {
  const auto with = [](const Tensor& mask, const Tensor& bias) {
    return microsoft("DecoderMaskedMultiHeadAttention")
        .input(reals({1, 1, 1}, {1}))
        .input(reals({1, 1, 1}, {0}))
        .input(reals({1, 1, 1}, {8}))
        .input(mask)
        .input(bias)
        .input(reals({1, 1, 4, 1}, {0, 0, nan, nan}))
        .input(reals({1, 1, 4, 1}, {2, 4, nan, nan}))
        .input(ints({1}, {2}, ElementType::i32))
        .set("num_heads", int64_t{1})
        .set("past_present_share_buffer", int64_t{1})
        .run();
  };
  const Tensor all = ints({1, 3}, {1, 1, 1}, ElementType::i32);
  const Tensor none = reals({1, 1, 1, 3}, {0, 0, 0});
  expect_near(with(all, none), {14.0 / 3});
  expect_near(with(ints({1, 3}, {0, 1, 1}, ElementType::i32), none), {6});
  expect_near(with(all, reals({1, 1, 1, 3}, {0, std::log(2.0), 0})), {4.5});
  EXPECT_THROW(with(ints({1, 2}, {1, 1}, ElementType::i32), none), Error);
  EXPECT_THROW(with(all, reals({1, 1, 1, 2}, {0, 0})), Error);
}

TEST(DecoderAttention, PackedQueriesAndBiases) {
  const Tensor packed = microsoft("DecoderMaskedMultiHeadAttention")
                            .input(reals({1, 1, 3}, {0.5, 0, 5}))
                            .absent_input()
                            .absent_input()
                            .absent_input()
                            .absent_input()
                            .input(reals({1, 1, 2, 1}, {0, nan}))
                            .input(reals({1, 1, 2, 1}, {4, nan}))
                            .input(ints({1}, {1}, ElementType::i32))
                            .absent_input()
                            .absent_input()
                            .input(reals({3}, {0.5, std::log(3.0), 3}))
                            .set("num_heads", int64_t{1})
                            .set("past_present_share_buffer", int64_t{1})
                            .run();
  expect_near(packed, {7});
}

/// Two beams of one batch. Beam 0 had its first token from beam 1.
NodeUnderTest beams(const std::vector<int64_t>& makers, const Shape& shape) {
  return microsoft("DecoderMaskedMultiHeadAttention", 3)
      .input(reals({2, 1, 1}, {1, 1}))
      .input(reals({2, 1, 1}, {0, 0}))
      .input(reals({2, 1, 1}, {9, 12}))
      .absent_input()
      .absent_input()
      .input(reals({2, 1, 3, 1}, {0, 0, nan, std::log(2.0), 0, nan}))
      .input(reals({2, 1, 3, 1}, {1, 3, nan, 5, 6, nan}))
      .input(ints({1}, {2}, ElementType::i32))
      .input(ints({1}, {2}, ElementType::i32))
      .input(ints(shape, makers, ElementType::i32))
      .set("num_heads", int64_t{1})
      .set("past_present_share_buffer", int64_t{1});
}

TEST(DecoderAttention, BeamsShareTheStatesOfTheirTokens) {
  const auto results = beams({1, 0, 99, 1, 1, -5}, {1, 2, 3}).run_all();
  expect_near(results[0], {(2 * 5 + 3 + 9) / 4.0, (2 * 5 + 6 + 12) / 4.0});
  expect_near(beams({0, 1, 0, 0, 0, 0}, {1, 2, 3}).run_all()[0], {(1 + 6 + 9) / 3.0, (1 + 3 + 12) / 3.0});
  // Every beam's own buffer is written.
  EXPECT_EQ(results[2].get_real(2), 9);
  EXPECT_EQ(results[2].get_real(5), 12);
  EXPECT_EQ(results[2].get_real(0), 1);
  EXPECT_THROW(beams({2, 0, 0, 0, 0, 0}, {1, 2, 3}).run_all(), Error);
  EXPECT_THROW(beams({0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 3, 3}).run_all(), Error);
}

TEST(DecoderAttention, CrossAttentionSeesAllKeys) {
  expect_near(microsoft("DecoderMaskedMultiHeadAttention")
                  .input(reals({1, 1, 1}, {1}))
                  .input(reals({1, 1, 2, 1}, {0, std::log(3.0)}))
                  .input(reals({1, 1, 2, 1}, {4, 8}))
                  .set("num_heads", int64_t{1})
                  .run(),
              {7});
}

TEST(DecoderAttention, MultiHeadAttentionWritesSeveralStates) {
  // Causal: the first of the new queries does not see the second's key.
  const auto results = microsoft("MultiHeadAttention", 3)
                           .input(reals({1, 2, 1}, {1, 1}))
                           .input(reals({1, 2, 1}, {std::log(3.0), 0}))
                           .input(reals({1, 2, 1}, {8, 5}))
                           .absent_input()
                           .absent_input()
                           .absent_input()
                           .input(reals({1, 1, 4, 1}, {0, nan, nan, nan}))
                           .input(reals({1, 1, 4, 1}, {4, nan, nan, nan}))
                           .input(ints({1}, {1}, ElementType::i32))
                           .set("num_heads", int64_t{1})
                           .set("unidirectional", int64_t{1})
                           .run_all();
  expect_near(results[0], {7, (4 + 3 * 8 + 5) / 5.0});
  EXPECT_EQ(results[2].get_real(2), 5);
  EXPECT_TRUE(std::isnan(results[2].get_real(3)));
}

/// The results where the number of past states is data that the definition does not know.
std::vector<Tensor> run_with_past(const NodeUnderTest& node, int64_t past) {
  std::vector<OperandInfo> operands = node.known();
  std::vector<Tensor> values(operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].present) values[k] = *operands[k].constant;
  }
  operands[7].constant = nullptr;
  values[7] = ints({1}, {past}, ElementType::i32);
  return evaluate(define_node(node.node(), operands), values);
}

TEST(DecoderAttention, StatesThatTurnOutNotToFitMakeNoNumbers) {
  const NodeUnderTest node = two_keys(1, 3);
  expect_near(run_with_past(node, 1)[0], {7});
  expect_near(run_with_past(node, 0)[0], {8});
  for (const int64_t past : {-1, 4, 1 << 30}) {
    EXPECT_TRUE(std::isnan(run_with_past(node, past)[0].get_real(0))) << past;
    EXPECT_EQ(run_with_past(node, past)[1].get_real(0), 0) << past;  // the buffer stays
  }
}

TEST(DecoderAttention, KeysWithoutAColumnAreNotSeen) {
  const auto with = [](const Tensor& mask, const Tensor& bias) {
    const auto node = microsoft("DecoderMaskedMultiHeadAttention")
                          .input(reals({1, 1, 1}, {1}))
                          .input(reals({1, 1, 1}, {0}))
                          .input(reals({1, 1, 1}, {8}))
                          .input(mask)
                          .input(bias)
                          .input(reals({1, 1, 4, 1}, {0, 0, nan, nan}))
                          .input(reals({1, 1, 4, 1}, {2, 4, nan, nan}))
                          .input(ints({1}, {0}, ElementType::i32))
                          .set("num_heads", int64_t{1})
                          .set("past_present_share_buffer", int64_t{1});
    return run_with_past(node, 2)[0];
  };
  const Tensor all = ints({1, 3}, {1, 1, 1}, ElementType::i32);
  const Tensor none = reals({1, 1, 1, 3}, {0, 0, 0});
  expect_near(with(all, none), {14.0 / 3});
  expect_near(with(ints({1, 2}, {1, 1}, ElementType::i32), none), {3});
  expect_near(with(all, reals({1, 1, 1, 2}, {0, 0})), {3});
  expect_near(with(ints({1, 1}, {0}, ElementType::i32), none), {14.0 / 3});  // one column masks nothing
}

TEST(DecoderAttention, OneProgramServesAllLengths) {
  EXPECT_EQ(two_keys(1, 3).output_dims(7, {Dim(1)}), (Dims{Dim(1), Dim(1), Dim(1)}));
  EXPECT_THROW(two_keys(1, 4).output_dims(7, {Dim(1)}), NotYetKnown);  // scores have the length
}

// GatedDeltaNet
// ---------------------------------------------------------------------------------------------------------

struct DeltaCase {
  std::vector<std::vector<int64_t>> sequences;  ///< tokens of each
  int64_t heads = 1, value_heads = 2, d_k = 3, d_v = 2;
  Tensor query, key, value, decay, beta, state;

  explicit DeltaCase(std::vector<std::vector<int64_t>> all) : sequences(std::move(all)) {
    int64_t tokens = 0;
    for (const auto& sequence : sequences) tokens += static_cast<int64_t>(sequence.size());
    query = quarters({tokens, heads, d_k});
    key = quarters({tokens, heads, d_k}, 0.5);
    value = quarters({tokens, value_heads, d_v}, 2);
    decay = quarters({tokens, value_heads}, 0.25);
    beta = quarters({tokens, value_heads}, 0.5);
    state = quarters({static_cast<int64_t>(sequences.size()), value_heads, d_v, d_k}, 0.25);
  }

  /// Outputs and states by the definition, one number after the other.
  std::pair<std::vector<double>, std::vector<double>> expected() const {
    std::vector<double> outputs(static_cast<size_t>(value.size()));
    std::vector<double> states = to_reals(state);
    for (size_t b = 0; b < sequences.size(); ++b) {
      for (const int64_t t : sequences[b]) {
        for (int64_t h = 0; h < value_heads; ++h) {
          const double factor = std::exp(decay.get_real(t * value_heads + h));
          const double rate = beta.get_real(t * value_heads + h);
          for (int64_t v = 0; v < d_v; ++v) {
            double* row =
                &states[static_cast<size_t>(((static_cast<int64_t>(b) * value_heads + h) * d_v + v) * d_k)];
            double retrieved = 0, output = 0;
            for (int64_t k = 0; k < d_k; ++k) retrieved += (row[k] *= factor) * key.get_real(t * d_k + k);
            const int64_t place = (t * value_heads + h) * d_v + v;
            const double added = rate * (value.get_real(place) - retrieved);
            for (int64_t k = 0; k < d_k; ++k) {
              row[k] += added * key.get_real(t * d_k + k);
              output += row[k] * query.get_real(t * d_k + k);
            }
            outputs[static_cast<size_t>(place)] = output / std::sqrt(static_cast<double>(d_k));
          }
        }
      }
    }
    return {outputs, states};
  }
};

TEST(GatedDeltaNet, SequencesOfOneLengthFollowTheDefinition) {
  const DeltaCase c({{0, 1, 2}, {3, 4, 5}});
  const auto results = microsoft("GatedDeltaNet", 2)
                           .input(c.query)
                           .input(c.key)
                           .input(c.value)
                           .absent_input()
                           .input(c.decay)
                           .input(c.beta)
                           .input(c.state)
                           .run_all();
  const auto [outputs, states] = c.expected();
  expect_near(results[0], outputs);
  expect_near(results[1], states);
}

TEST(GatedDeltaNet, SequencesMayHaveTheirOwnLengths) {
  const DeltaCase c({{0}, {}, {1, 2, 3}});
  const auto run = [&](const std::vector<int64_t>& starts) {
    return microsoft("GatedDeltaNet", 2)
        .input(c.query)
        .input(c.key)
        .input(c.value)
        .input(ints({4}, starts, ElementType::i32))
        .input(c.decay)
        .input(c.beta)
        .input(c.state)
        .run_all();
  };
  const auto results = run({0, 1, 1, 4});
  const auto [outputs, states] = c.expected();
  expect_near(results[0], outputs);
  expect_near(results[1], states);
  for (const auto& starts :
       {std::vector<int64_t>{1, 1, 1, 4}, {0, 1, 1, 3}, {0, 1, 1, 5}, {0, 3, 2, 4}, {0, -1, 1, 4}})
    EXPECT_THROW(run(starts), Error);
}

TEST(GatedDeltaNet, PackedTokensInRowsAreTheSame) {
  const DeltaCase c({{0, 1}, {2, 3}});
  Tensor packed = Tensor::allocate(ElementType::f32, {2, 2, 10});
  for (int64_t t = 0; t < 4; ++t) {
    for (int64_t k = 0; k < 10; ++k) {
      packed.set_real(t * 10 + k, k < 3   ? c.query.get_real(t * 3 + k)
                                  : k < 6 ? c.key.get_real(t * 3 + k - 3)
                                          : c.value.get_real(t * 4 + k - 6));
    }
  }
  const auto results = microsoft("GatedDeltaNet", 2)
                           .input(packed)
                           .absent_input()
                           .absent_input()
                           .absent_input()
                           .input(c.decay.reshaped({2, 2, 2}))
                           .input(c.beta.reshaped({2, 2, 2}))
                           .input(c.state)
                           .run_all();
  const auto [outputs, states] = c.expected();
  EXPECT_EQ(results[0].shape(), (Shape{2, 2, 2, 2}));
  expect_near(results[0], outputs);
  expect_near(results[1], states);
}

TEST(GatedDeltaNet, GatesHaveActivations) {
  // One token, no query: the state after it is e^g of that before.
  const auto factor = [](const std::string& activation, double decay) {
    return microsoft("GatedDeltaNet", 2)
        .input(reals({1, 1, 1}, {0}))
        .input(reals({1, 1, 1}, {0}))
        .input(reals({1, 1, 1}, {0}))
        .absent_input()
        .input(reals({1, 1}, {decay}))
        .absent_input()
        .input(reals({1, 1, 1, 1}, {1}))
        .input(reals({1}, {0.5}))
        .input(reals({1}, {0.25}))
        .set("update_rule", "gated")
        .set("gate_activation", activation)
        .set_real("gate_lower_bound", -2)
        .run_all()[1];
  };
  for (const double g : {-40.0, -1.0, 2.0}) {
    expect_near(factor("softplus", g), {std::exp(-std::exp(0.5) * std::log1p(std::exp(g + 0.25)))});
    expect_near(factor("qwen", g), {std::exp(-std::exp(0.5) * std::log1p(std::exp(g + 0.25)))});
    expect_near(factor("kda", g), {std::exp(-2 / (1 + std::exp(-std::exp(0.5) * (g + 0.25))))});
  }
  EXPECT_THROW(factor("none", 0), Error);
  EXPECT_THROW(factor("relu", 0), Error);
}

NodeUnderTest captured(const std::vector<int64_t>& counts, int64_t capacity) {
  return microsoft("GatedDeltaNet", 3)
      .input(reals({2, 1, 1}, {1, 1}))
      .input(reals({2, 1, 1}, {2, 3}))
      .input(reals({2, 1, 1}, {5, 7}))
      .absent_input()
      .input(reals({2, 1}, {0, std::log(2.0)}))
      .absent_input()
      .input(reals({1, 1, 1, 1}, {1}))
      .absent_input()
      .absent_input()
      .input(ints({1}, counts, ElementType::i32))
      .set("update_rule", "gated")
      .set("state_update_capacity", capacity);
}

TEST(GatedDeltaNet, FirstTokensAreCaptured) {
  const auto results = captured({2}, 3).run_all();
  expect_near(results[1], {(1 + 10) * 2 + 21});
  expect_near(results[2], {1, 2, 0, 2, 3, 0, 5, 7, 0});
  expect_near(captured({1}, 3).run_all()[2], {1, 0, 0, 2, 0, 0, 5, 0, 0});
  expect_near(captured({9}, 1).run_all()[2], {1, 2, 5});
  expect_near(captured({-1}, 1).run_all()[2], {0, 0, 0});
  expect_near(captured({2}, 1).input(ints({1}, {0}, ElementType::i32)).run_all()[2], {0, 0, 0});
  EXPECT_THROW(captured({2}, 9).run_all(), Error);
  EXPECT_THROW(captured({2}, 0).run_all(), Error);
}

}  // namespace
}  // namespace axrun::ir::test
