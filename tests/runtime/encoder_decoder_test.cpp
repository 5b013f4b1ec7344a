// Searches with an encoder and a decoder that the test plays: what each is given, and what is refused.
// (tests/fuzz/encoder_decoder_models.py compares real ones with ONNX Runtime.)
#include <gtest/gtest.h>

#include "ir/error.h"
#include "runtime/control/graph_operators.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;
using ir::Tensor;
using Values = std::vector<RuntimeValue>;

Tensor i32(const ir::Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::allocate(ElementType::i32, shape);
  for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

/// Words 0 to 4; after word w most probably comes w + 1, then w + 2. The encoder's states hold the first of
/// its ids, the decoder's own states the words so far.
class Player {
 public:
  static constexpr int64_t words = 5, eos = 4;

  explicit Player(bool start_in_encoder = true, bool all_tokens = false, bool with_hidden = false) {
    body(encoder_, start_in_encoder ? 3 : 2, start_in_encoder ? 6 : 2);
    body(decoder_, with_hidden ? 7 : 6, 3);
    if (with_hidden) decoder_->value(decoder_->inputs[2]).name = "encoder_hidden_states";
    const ir::Dim columns = all_tokens ? ir::Dim::symbol("length") : ir::Dim(1);
    decoder_->value(decoder_->inputs[0]).dims = ir::Dims{ir::Dim::symbol("rows"), columns};
  }

  ir::Node node(const std::string& op = "BeamSearch") {
    ir::Node node;
    node.domain = "com.microsoft";
    node.op = node.name = op;
    node.outputs = {0, 1};
    for (const auto& [name, value] : {std::pair<std::string, int64_t>{"model_type", 1},
                                      {"eos_token_id", eos},
                                      {"pad_token_id", 0},
                                      {"decoder_start_token_id", 0}}) {
      node.attributes[name].integer = value;
    }
    for (const auto& [name, graph] : {std::pair{"encoder", encoder_}, {"decoder", decoder_}}) {
      node.attributes[name].kind = ir::Attribute::Kind::graph;
      node.attributes[name].graph = graph;
    }
    return node;
  }

  RunBody run() {
    return [this](const ir::Graph& graph, const Values& inputs, Values& outputs) {
      ASSERT_EQ(inputs.size(), graph.inputs.size());
      if (&graph == encoder_.get()) {
        encoder_inputs.push_back(inputs);
        const int64_t rows = inputs[0].tensor.shape()[0];
        const size_t cross = outputs.size() - 2;
        outputs[cross] = outputs[cross + 1] = state(inputs[0].tensor, 1);
        if (inputs.size() == 2) return;
        outputs[0] = logits(inputs[2].tensor);
        outputs[1] = RuntimeValue(Tensor::allocate(ElementType::f32, {rows, 2, 3}));
        outputs[2] = outputs[3] = state(inputs[2].tensor, inputs[2].tensor.shape()[1]);
        return;
      }
      decoder_inputs.push_back(inputs);
      outputs[0] = logits(inputs[0].tensor);
      const size_t own = inputs.size() - 4;
      const int64_t columns = inputs[0].tensor.shape()[1];
      const Tensor newest = slice(inputs[0].tensor, 1, columns - 1, columns);
      outputs[1] = outputs[2] = RuntimeValue(concatenate({inputs[own].tensor, state(newest, 1).tensor}, 2));
    };
  }

  const std::shared_ptr<ir::Graph>& encoder() { return encoder_; }
  const std::shared_ptr<ir::Graph>& decoder() { return decoder_; }
  std::vector<Values> encoder_inputs, decoder_inputs;

 private:
  static void body(const std::shared_ptr<ir::Graph>& graph, int inputs, int outputs) {
    for (int k = 0; k < inputs; ++k) graph->inputs.push_back(graph->add_value({}));
    for (int k = 0; k < outputs; ++k) graph->outputs.push_back(graph->add_value({}));
  }
  /// [rows, 1, columns, 1] of the first columns of `ids`.
  static RuntimeValue state(const Tensor& ids, int64_t columns) {
    const int64_t rows = ids.shape()[0], all = ids.shape()[1];
    Tensor tensor = Tensor::allocate(ElementType::f32, {rows, 1, columns, 1});
    for (int64_t k = 0; k < rows * columns; ++k) {
      tensor.set_real(k, static_cast<double>(ids.get_int(k / columns * all + k % columns)));
    }
    return RuntimeValue(tensor);
  }
  static RuntimeValue logits(const Tensor& ids) {
    const int64_t rows = ids.shape()[0], length = ids.shape()[1];
    Tensor tensor = Tensor::allocate(ElementType::f32, {rows, length, words});
    for (int64_t k = 0; k < rows * length; ++k) {
      tensor.set_real(k * words + (ids.get_int(k) + 1) % words, 3);
      tensor.set_real(k * words + (ids.get_int(k) + 2) % words, 2);
    }
    return RuntimeValue(tensor);
  }

  std::shared_ptr<ir::Graph> encoder_ = std::make_shared<ir::Graph>();
  std::shared_ptr<ir::Graph> decoder_ = std::make_shared<ir::Graph>();
};

RuntimeValue one(int64_t value) { return RuntimeValue(i32({1}, {value})); }

/// Two prompts; three words after the first one, two beams.
Values inputs_of(int64_t longest = 4) {
  return {RuntimeValue(i32({2, 3}, {0, 7, 0, 8, 9, 9})), one(longest), one(0), one(2), one(1)};
}

TEST(EncoderDecoder, StatesFollowTheirBeams) {
  Player player(true, false, true);
  const Values results = run_graph_operator(player.node(), inputs_of(), player.run());
  // Best: 0 1 2 3; eos would come next.
  EXPECT_EQ(results[0].tensor.shape(), (ir::Shape{2, 1, 4}));
  EXPECT_EQ(results[0].tensor.to_ints(), (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3}));
  ASSERT_EQ(player.encoder_inputs.size(), 1u);
  // Only padding before the first word is hidden.
  EXPECT_EQ(player.encoder_inputs[0][1].tensor.to_ints(), (std::vector<int64_t>{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(player.encoder_inputs[0][2].tensor.to_ints(), (std::vector<int64_t>{0, 0}));
  ASSERT_EQ(player.decoder_inputs.size(), 2u);
  const Values& second = player.decoder_inputs[1];
  EXPECT_EQ(second[0].tensor.to_ints(), (std::vector<int64_t>{2, 3, 2, 3}));
  EXPECT_EQ(second[1].tensor.shape(), (ir::Shape{4, 3}));
  EXPECT_EQ(second[1].tensor.get_int(0), 0);
  EXPECT_EQ(second[1].tensor.get_int(6), 1);
  EXPECT_EQ(second[2].tensor.shape(), (ir::Shape{4, 2, 3}));
  // The first beam goes on from 0 1, the other one from there, too (3), not from its own 0 2.
  EXPECT_EQ(second[3].tensor.shape(), (ir::Shape{4, 1, 2, 1}));
  EXPECT_EQ(second[3].tensor.to_ints(), (std::vector<int64_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(second[5].tensor.to_ints(), (std::vector<int64_t>{0, 0, 8, 8}));
}

/// A decoder that may point at the encoder's tokens.
TEST(EncoderDecoder, TheDecoderMayReadTheEncodersTokens) {
  for (const bool with_hidden : {false, true}) {
    Player player(true, false, with_hidden);
    auto& inputs = player.decoder()->inputs;
    ir::Value ids;
    ids.name = "encoder_input_ids";
    inputs.insert(inputs.begin() + 1, player.decoder()->add_value(ids));
    const Values results = run_graph_operator(player.node(), inputs_of(), player.run());
    EXPECT_EQ(results[0].tensor.to_ints(), (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3}));
    const Values& second = player.decoder_inputs.at(1);
    // A row for each beam, as of the mask behind them.
    EXPECT_EQ(second[1].tensor.to_ints(), (std::vector<int64_t>{0, 7, 0, 0, 7, 0, 8, 9, 9, 8, 9, 9}));
    EXPECT_EQ(second[2].tensor.to_ints(), (std::vector<int64_t>{0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1}));
  }
}

TEST(EncoderDecoder, TheDecoderMayBegin) {
  Player player(false, true);
  const Values results = run_graph_operator(player.node(), inputs_of(), player.run());
  EXPECT_EQ(results[0].tensor.to_ints(), (std::vector<int64_t>{0, 1, 2, 3, 0, 1, 2, 3}));
  ASSERT_EQ(player.decoder_inputs.size(), 3u);
  EXPECT_EQ(player.decoder_inputs[0][2].tensor.shape(), (ir::Shape{4, 1, 0, 1}));
  // It is declared to read all words.
  EXPECT_EQ(player.decoder_inputs[2][0].tensor.to_ints(),
            (std::vector<int64_t>{0, 1, 2, 0, 1, 3, 0, 1, 2, 0, 1, 3}));
}

TEST(EncoderDecoder, GreedySearchHasThemToo) {
  Player player;
  Values inputs = {inputs_of()[0], one(6)};
  const Values results = run_graph_operator(player.node("GreedySearch"), inputs, player.run());
  EXPECT_EQ(results[0].tensor.to_ints(), (std::vector<int64_t>{0, 1, 2, 3, 0, 0, 0, 1, 2, 3, 0, 0}));
}

TEST(EncoderDecoder, WhatDoesNotFitIsRefused) {
  const auto refused = [](Player& player, const ir::Node& node, const std::string& text,
                          const Values& inputs = inputs_of()) {
    try {
      run_graph_operator(node, inputs, player.run());
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  Player player;
  ir::Node node = player.node();
  node.attributes.erase("encoder");
  refused(player, node, "'encoder' must be a graph");
  node = player.node();
  node.attributes.erase("decoder_start_token_id");
  refused(player, node, "'decoder_start_token_id' is missing");
  Values inputs = inputs_of();
  inputs[0] = RuntimeValue(i32({3}, {1, 2, 3}));
  refused(player, player.node(), "must have 2 dims", inputs);
  inputs = inputs_of();
  inputs.resize(12);
  inputs[11] = one(1);
  refused(player, player.node(), "input 11", inputs);
  refused(player, player.node(), "leaves nothing to generate", inputs_of(1));
  Player without_states;
  without_states.decoder()->outputs.resize(1);
  refused(without_states, without_states.node(), "a decoder of 1 outputs");
  Player of_two_layers;
  of_two_layers.decoder()->inputs.resize(5);
  refused(of_two_layers, of_two_layers.node(), "a decoder of 5 inputs");
  Player small_encoder;
  small_encoder.encoder()->outputs.resize(4);
  refused(small_encoder, small_encoder.node(), "does not fit the decoder");

  const auto spoilt = [&](size_t output, const Tensor& by, const std::string& text) {
    Player other;
    const RunBody right = other.run();
    const RunBody wrong = [&](const ir::Graph& graph, const Values& in, Values& out) {
      right(graph, in, out);
      if (output < out.size()) out[output] = RuntimeValue(by);
    };
    EXPECT_THROW(
        {
          try {
            run_graph_operator(other.node(), inputs_of(), wrong);
          } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
            throw;
          }
        },
        Error);
  };
  spoilt(0, Tensor::allocate(ElementType::f32, {2, 5}), "logits of shape");
  spoilt(0, Tensor::allocate(ElementType::f32, {3, 1, 5}), "logits of shape");
  spoilt(2, Tensor::allocate(ElementType::f32, {2, 1, 1}), "states of shape");
  spoilt(5, Tensor::allocate(ElementType::f32, {1, 1, 1, 1}), "has not 2 rows");
}

}  // namespace
}  // namespace axrun::runtime
