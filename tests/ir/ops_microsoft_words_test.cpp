// WordConvEmbedding and BifurcationDetector by hand; AttnLSTM as ONNX Runtime 1.32 answers, and by what has
// to be equal.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

NodeUnderTest word_convolution(const Shape& shape, const Ints& text) {
  return microsoft("WordConvEmbedding")
      .input(ints(shape, text, ElementType::i32))
      .input(reals({1, 1, 2, 1}, {1, 10}))
      .input(reals({1}, {0.5}))
      .input(reals({4, 1}, {0.01, 0.02, -0.03, 0.04}));
}

TEST(WordConvEmbedding, TheLargestWindowOfAWordCounts) {
  // Windows of two characters: (1, 3), (3, 2) of the first word; of a character alone with what follows it.
  const Tensor result = word_convolution({4, 4}, {1, 3, 2, 0, 2, 0, 0, 0, 0, 3, 3, 3, 2, 2, 0, 3}).run();
  EXPECT_EQ(result.shape(), (Shape{4, 1}));
  EXPECT_NEAR(result.get_real(0), std::tanh(0.5 + 0.02 + 0.4), 1e-6);
  EXPECT_NEAR(result.get_real(1), std::tanh(0.5 - 0.03 + 0.1), 1e-6);
  EXPECT_EQ(result.get_real(2), 0);  // does not begin
  // Three positive characters: the first three places, whatever there is.
  EXPECT_NEAR(result.get_real(3), std::tanh(0.5 - 0.03 + 0.1), 1e-6);
}

TEST(WordConvEmbedding, RefusesWhatDoesNotFit) {
  EXPECT_THROW(word_convolution({1, 1}, {1}).run(), Error);  // shorter than the filter
  EXPECT_THROW(word_convolution({1, 2}, {1, 4}).run(), Error);
  EXPECT_THROW(word_convolution({1, 2}, {1, -1}).run(), Error);
  EXPECT_THROW(word_convolution({1, 2}, {1, 1}).set("embedding_size", int64_t{2}).run(), Error);
  EXPECT_THROW(word_convolution({1, 2}, {1, 1}).set("conv_window_size", int64_t{1}).run(), Error);
  EXPECT_THROW(word_convolution({1, 2}, {1, 1}).set("char_embedding_size", int64_t{3}).run(), Error);
  EXPECT_NO_THROW(word_convolution({1, 2}, {1, 1}).set("conv_window_size", int64_t{2}).run());
}

std::vector<Ints> extended(const Ints& source, const Ints& current, int64_t place, const Ints& predicted,
                           int64_t least = 1, int64_t most = 3) {
  NodeUnderTest node = microsoft("BifurcationDetector", 2);
  for (const Ints* tokens : {&source, &current})
    node.input(ints({static_cast<int64_t>(tokens->size())}, *tokens));
  node.input(ints({1}, {place}));
  if (!predicted.empty()) node.input(ints({static_cast<int64_t>(predicted.size())}, predicted));
  node.set("min_ngram_size", least).set("max_ngram_size", most);
  const auto results = node.run_all();
  return {results[0].to_ints(), results[1].to_ints()};
}

TEST(BifurcationDetector, TakesWhatAgreesAndOneMore) {
  using Lists = std::vector<Ints>;
  const Ints source = {1, 2, 3, 4, 5};
  EXPECT_EQ(extended(source, {9}, 1, {2, 3, 7, 5, 6}), (Lists{{9, 2, 3, 7}, {-1}}));
  EXPECT_EQ(extended(source, {9}, 1, {2, 3, 4, 5, 6}), (Lists{{9, 2, 3, 4, 5, 6}, {-1}}));
  EXPECT_EQ(extended(source, {9}, 5, {4}), (Lists{{9, 4}, {4}}));  // after the only 4
  EXPECT_EQ(extended(source, {9}, 4, {8, 8}), (Lists{{9, 8}, {-1}}));
  EXPECT_EQ(extended(source, {9, 2}, 0, {}), (Lists{{9, 2}, {2}}));
  // 2 is there twice, (1, 2) once; (2, 1, 2) is not there, which leaves that.
  EXPECT_EQ(extended({2, 2, 1, 2, 3}, {2, 1, 2}, 0, {}, 1, 1)[1], (Ints{-1}));
  EXPECT_EQ(extended({2, 2, 1, 2, 3}, {3, 1, 2}, 0, {}, 1, 3)[1], (Ints{4}));
  EXPECT_EQ(extended({1, 2}, {2}, 0, {}), (Lists{{2}, {2}}));  // nothing is left of the source
  EXPECT_EQ(extended({1, 2}, {2}, 0, {}, 2, 3)[1], (Ints{-1}));
}

TEST(BifurcationDetector, RefusesOtherPredictions) {
  EXPECT_THROW(extended({1, 2, 3}, {1}, 1, {2, 3}), Error);
  EXPECT_THROW(extended({1, 2, 3}, {1}, -1, {1, 2, 3, 4, 5}), Error);
  EXPECT_THROW(extended({1, 2, 3}, {1}, 4, {1}), Error);
  EXPECT_THROW(extended({1, 2, 3}, {1}, 0, {}, 0, 1), Error);
  EXPECT_THROW(extended({1, 2, 3}, {1}, 0, {}, 3, 2), Error);
}

/// Two directions where asked for, two steps of two sequences, hidden 2, memories of three steps of depth 1.
struct AttentionLstm {
  int64_t directions = 1;
  bool has_layer = true;
  std::string direction = "forward";
  std::vector<Tensor> lengths = {{}, {}};  ///< of sequences and memories

  std::vector<Tensor> run() const {
    const int64_t d = directions, attention = has_layer ? 3 : 1;
    NodeUnderTest node = microsoft("AttnLSTM", 3);
    node.input(quarters({2, 2, 1})).input(quarters({d, 8, 1 + attention})).input(quarters({d, 8, 2}, 0.5));
    node.input(quarters({d, 16}, 0.25));
    lengths[0].defined() ? node.input(lengths[0]) : node.absent_input();
    node.input(quarters({d, 2, 2})).input(quarters({d, 2, 2}, -1)).input(quarters({d, 6}, 2));
    node.input(quarters({d, 2, 2}, 3)).input(quarters({d, 1, 2})).input(quarters({d, 2}));
    node.input(quarters({2, 3, 1}, -2));
    lengths[1].defined() ? node.input(lengths[1]) : node.absent_input();
    if (has_layer) node.input(quarters({d, 3, 3}));
    return node.set("hidden_size", int64_t{2}).set("direction", direction).run_all();
  }
};

TEST(AttnLSTM, AttendsToTheMemoryThroughALayer) {
  const auto results = AttentionLstm().run();
  EXPECT_EQ(results[0].shape(), (Shape{2, 1, 2, 2}));
  expect_within(results[0], {0.3084751, -0.02945626, 0.05532395, -0.08308028, 0.7643515, -0.0476535,
                             0.1711419, -0.09413534});
  expect_within(results[1], {0.7643515, -0.0476535, 0.1711419, -0.09413534});
  expect_within(results[2], {1.287526, -0.3739594, 0.2843388, -0.4317178});
}

TEST(AttnLSTM, SequencesAndMemoriesHaveLengths) {
  AttentionLstm lstm;
  lstm.directions = 2;
  lstm.has_layer = false;
  lstm.direction = "bidirectional";
  lstm.lengths = {ints({2}, {1, 2}, ElementType::i32), ints({2}, {3, 2}, ElementType::i32)};
  const auto results = lstm.run();
  expect_within(results[0],
                {0.1011778, -0.008625229, 0.09934719, -0.1170779, -0.3025722, 0.5100661, -0.1575939,
                 -0.05370042, 0, 0, 0.05570211, -0.2307658, 0, 0, -0.4180968, -0.0154028});
  expect_within(results[1], {0.1011778, -0.008625229, 0.05570211, -0.2307658, -0.3025722, 0.5100661,
                             -0.1575939, -0.05370042});
  expect_within(results[2],
                {1.077811, -1.047909, 0.07858443, -0.458028, -0.5520486, 0.6835558, -0.2243781, -0.8863049});
  for (int64_t wrong : {0, -1, 4}) {
    lstm.lengths[1] = ints({2}, {3, wrong}, ElementType::i32);
    EXPECT_THROW(lstm.run(), Error) << wrong;
  }
}

TEST(AttnLSTM, RefusesOtherDirectionsAndSizes) {
  AttentionLstm lstm;
  lstm.direction = "bidirectional";
  EXPECT_THROW(lstm.run(), Error);
  lstm = {};
  lstm.lengths[1] = ints({3}, {1, 1, 1}, ElementType::i32);
  EXPECT_THROW(lstm.run(), Error);
}

}  // namespace
}  // namespace axrun::ir::test
