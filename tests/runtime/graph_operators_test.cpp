// Operators on maps, and text generation with a decoder that the test plays.
#include "runtime/control/graph_operators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "ir/dim.h"
#include "ir/error.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;
using ir::Tensor;
using Values = std::vector<RuntimeValue>;

ir::Attribute attribute(int64_t value) {
  ir::Attribute a;
  a.integer = value;
  return a;
}
ir::Attribute attribute(const std::string& value) {
  ir::Attribute a;
  a.kind = ir::Attribute::Kind::string;
  a.string = value;
  return a;
}
ir::Attribute attribute(std::vector<std::string> values) {
  ir::Attribute a;
  a.kind = ir::Attribute::Kind::strings;
  a.strings = std::move(values);
  return a;
}

ir::Node node_of(const std::string& domain, const std::string& op) {
  ir::Node node;
  node.domain = domain;
  node.op = node.name = op;
  node.outputs = {0};
  return node;
}

Tensor floats(const std::vector<double>& values) {
  Tensor tensor = Tensor::allocate(ElementType::f32, {static_cast<int64_t>(values.size())});
  for (size_t k = 0; k < values.size(); ++k) tensor.set_real(static_cast<int64_t>(k), values[k]);
  return tensor;
}

std::vector<double> reals(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t k = 0; k < tensor.size(); ++k) values.push_back(tensor.get_real(k));
  return values;
}

Tensor run_on(const ir::Node& node, const RuntimeValue& map) {
  return run_graph_operator(node, {map}, {}).at(0).tensor;
}

TEST(Maps, CastInTheOrderOfTheirKeys) {
  const RuntimeValue map = RuntimeValue::map(Tensor::from_i64({5, 0, 2}), floats({1.5, -2.5, 3}));
  ir::Node node = node_of("ai.onnx.ml", "CastMap");
  const Tensor dense = run_on(node, map);
  EXPECT_EQ(dense.shape(), (ir::Shape{1, 3}));
  EXPECT_EQ(reals(dense), (std::vector<double>{-2.5, 3, 1.5}));
  node.attributes["map_form"] = attribute(std::string("SPARSE"));
  node.attributes["max_map"] = attribute(int64_t{6});
  node.attributes["cast_to"] = attribute(std::string("TO_INT64"));
  EXPECT_EQ(run_on(node, map).to_ints(), (std::vector<int64_t>{-2, 0, 3, 0, 0, 1}));
  node.attributes["max_map"] = attribute(int64_t{5});
  EXPECT_THROW(run_on(node, map), Error);
  const RuntimeValue words =
      RuntimeValue::map(Tensor::from_i64({1, 0}), Tensor::from_strings({2}, {"7", "x"}));
  node.attributes.erase("map_form");
  EXPECT_THROW(run_on(node, words), Error);
}

TEST(Maps, VectorizedByAVocabulary) {
  ir::Node node = node_of("ai.onnx.ml", "DictVectorizer");
  node.attributes["string_vocabulary"] = attribute(std::vector<std::string>{"a", "c", "b", "z"});
  const RuntimeValue map = RuntimeValue::map(Tensor::from_strings({2}, {"c", "a"}), floats({8, 4}));
  EXPECT_EQ(reals(run_on(node, map)), (std::vector<double>{4, 8, 0, 0}));
  EXPECT_THROW(run_on(node, RuntimeValue::map(Tensor::from_i64({1}), floats({1}))), Error);
  EXPECT_THROW(run_on(node, RuntimeValue(floats({1}))), Error);
}

/// A decoder of five words whose next word is most probably the one after the last; its only state counts
/// tokens.
struct CountingDecoder {
  static constexpr int64_t words = 5;
  std::shared_ptr<ir::Graph> graph = std::make_shared<ir::Graph>();
  std::vector<std::vector<int64_t>> positions;

  CountingDecoder() {
    for (int k = 0; k < 4; ++k) {
      ir::Value value;
      value.type = k < 3 ? ElementType::i32 : ElementType::f32;
      if (k == 3) value.dims = ir::Dims{2, ir::Dim::symbol("b"), 1, ir::Dim::symbol("p"), 1};
      graph->inputs.push_back(graph->add_value(value));
    }
    graph->outputs = {0, 3};
  }

  RunBody body() {
    return [this](const ir::Graph&, const Values& inputs, Values& outputs) {
      const Tensor& ids = inputs[0].tensor;
      positions.push_back(inputs[1].tensor.to_ints());
      const int64_t rows = ids.shape()[0], length = ids.shape()[1];
      EXPECT_EQ(inputs[2].tensor.shape()[1], inputs[3].tensor.shape()[3] + length);
      Tensor logits = Tensor::allocate(ElementType::f32, {rows, length, words});
      for (int64_t k = 0; k < rows * length; ++k) {
        const int64_t next = (ids.get_int(k) + 1) % words;
        logits.set_real(k * words + next, 2);
        logits.set_real(k * words + (next + 1) % words, 1);
      }
      outputs[0] = RuntimeValue(logits);
      outputs[1] = RuntimeValue(
          Tensor::allocate(ElementType::f32, {2, rows, 1, inputs[3].tensor.shape()[3] + length, 1}));
    };
  }

  ir::Node node(const std::string& op, int64_t eos) {
    ir::Node node = node_of("com.microsoft", op);
    node.attributes["decoder"].kind = ir::Attribute::Kind::graph;
    node.attributes["decoder"].graph = graph;
    node.attributes["eos_token_id"] = attribute(eos);
    node.attributes["pad_token_id"] = attribute(int64_t{0});
    return node;
  }
};

Tensor i32(const ir::Shape& shape, const std::vector<int64_t>& values) {
  Tensor tensor = Tensor::allocate(ElementType::i32, shape);
  for (size_t k = 0; k < values.size(); ++k) tensor.set_int(static_cast<int64_t>(k), values[k]);
  return tensor;
}

TEST(TextGeneration, GreedySearchGoesOnUntilTheEnd) {
  CountingDecoder decoder;
  const Values inputs = {RuntimeValue(i32({2, 2}, {0, 1, 2, 2})), RuntimeValue(i32({1}, {7}))};
  const Values results = run_graph_operator(decoder.node("GreedySearch", 4), inputs, decoder.body());
  // What ends a sequence is replaced by padding; the first prompt begins with it.
  EXPECT_EQ(results[0].tensor.shape(), (ir::Shape{2, 7}));
  EXPECT_EQ(results[0].tensor.to_ints(), (std::vector<int64_t>{0, 1, 2, 3, 0, 0, 0, 2, 2, 3, 0, 0, 0, 0}));
  EXPECT_EQ(decoder.positions.at(0), (std::vector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(decoder.positions.at(1), (std::vector<int64_t>{1, 2}));
}

TEST(TextGeneration, ScoresAreRuled) {
  CountingDecoder decoder;
  ir::Node node = decoder.node("GreedySearch", 4);
  const Values inputs = {RuntimeValue(i32({1, 1}, {1})), RuntimeValue(i32({1}, {4})),
                         RuntimeValue(i32({1}, {4})), RuntimeValue(),
                         RuntimeValue(i32({5}, {1, 1, 1, 0, 1}))};
  // 3 is masked, 4 comes too early: after 2 only ties at 0 are left, the first of them wins.
  EXPECT_EQ(run_graph_operator(node, inputs, decoder.body())[0].tensor.to_ints(),
            (std::vector<int64_t>{1, 2, 0, 1}));
  EXPECT_THROW(run_graph_operator(node, {inputs[0], RuntimeValue(i32({1}, {1}))}, decoder.body()), Error);
  node.attributes["model_type"] = attribute(int64_t{1});
  EXPECT_THROW(run_graph_operator(node, inputs, decoder.body()), Error);
}

TEST(TextGeneration, SamplingDrawsFromWhatIsLeft) {
  CountingDecoder decoder;
  const auto share_of_best = [&](double top_p, double temperature, int64_t custom, std::set<int64_t>& met) {
    ir::Node node = decoder.node("Sampling", 9);
    const auto set_real = [&](const char* name, double value) {
      node.attributes[name].kind = ir::Attribute::Kind::real;
      node.attributes[name].real = value;
    };
    set_real("top_p", top_p);
    set_real("temperature", temperature);
    node.attributes["custom"] = attribute(custom);
    int best = 0;
    constexpr int draws = 2000;
    for (int seed = 0; seed < draws; ++seed) {
      Values inputs = {RuntimeValue(i32({1, 1}, {1})), RuntimeValue(i32({1}, {2}))};
      inputs.resize(8);
      inputs.emplace_back(i32({1}, {seed}));
      const Tensor made = run_graph_operator(node, inputs, decoder.body())[0].tensor;
      EXPECT_EQ(made.shape(), (ir::Shape{1, 2}));
      EXPECT_EQ(made.get_int(0), 1);
      met.insert(made.get_int(1));
      if (made.get_int(1) == 2) ++best;
    }
    return static_cast<double>(best) / draws;
  };
  // Shares of e^2, e and three times 1: 0.564, 0.207 and 0.076.
  std::set<int64_t> met;
  EXPECT_NEAR(share_of_best(1, 1, 0, met), 0.564, 0.04);
  EXPECT_EQ(met, (std::set<int64_t>{0, 1, 2, 3, 4}));
  met.clear();
  EXPECT_NEAR(share_of_best(0.7, 1, 0, met), 0.731, 0.04);  // e^2 of e^2 + e
  EXPECT_EQ(met, (std::set<int64_t>{2, 3}));
  met.clear();
  EXPECT_EQ(share_of_best(0.5, 1, 1, met), 1);
  EXPECT_EQ(met, (std::set<int64_t>{2}));
  met.clear();
  EXPECT_NEAR(share_of_best(1, 0.5, 0, met), 0.814, 0.04);  // e^4 of e^4 + e^2 + 3
}

TEST(TextGeneration, SamplingSaysWhatItDrewBy) {
  CountingDecoder decoder;
  ir::Node node = decoder.node("Sampling", 9);
  node.outputs = {0, 1};
  node.attributes["custom"] = attribute(int64_t{1});
  node.attributes["top_p"].kind = ir::Attribute::Kind::real;
  node.attributes["top_p"].real = 0.6;
  node.attributes["presence_penalty"].kind = ir::Attribute::Kind::real;
  node.attributes["presence_penalty"].real = 0.5;
  Values inputs = {RuntimeValue(i32({2, 1}, {1, 1})), RuntimeValue(i32({1}, {2}))};
  inputs.resize(7);
  inputs.emplace_back(i32({2, 5}, {0, 0, 0, 0, 0, 0, 0, 2, 0, 0}));
  const Values results = run_graph_operator(node, inputs, decoder.body());
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].tensor.shape(), (ir::Shape{2, 5}));
  const double gone = static_cast<float>(-1e20);
  // In the second row both of the best have a score of 1: together 0.64 of all.
  EXPECT_EQ(reals(results[1].tensor), (std::vector<double>{gone, gone, 2, 1, gone, gone, gone, 1, 1, gone}));
  EXPECT_EQ(run_graph_operator(node, inputs, decoder.body())[0].tensor.to_ints(),
            results[0].tensor.to_ints());
  node.attributes["top_p"].real = 2;
  EXPECT_THROW(run_graph_operator(node, inputs, decoder.body()), Error);
}

TEST(TextGeneration, BeamSearchFindsTheMostProbableSequences) {
  CountingDecoder decoder;
  ir::Node node = decoder.node("BeamSearch", 4);
  node.outputs = {0, 1, 2};
  const auto one = [](int64_t value) { return RuntimeValue(i32({1}, {value})); };
  const Values inputs = {RuntimeValue(i32({1, 1}, {1})), one(4), one(0), one(2), one(2),
                         RuntimeValue(floats({0}))};
  const Values results = run_graph_operator(node, inputs, decoder.body());
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].tensor.shape(), (ir::Shape{1, 2, 4}));
  EXPECT_EQ(results[2].tensor.shape(), (ir::Shape{3, 1, 2, 5}));
  // Of two that end alike, only one is among the first candidates.
  // e^2, e and three times 1: log of the shares of the best and the second best word. With length_penalty 0
  // the sum counts.
  const double total = std::log(std::exp(2.0) + std::exp(1.0) + 3), first = 2 - total, second = 1 - total;
  EXPECT_EQ(results[0].tensor.to_ints(), (std::vector<int64_t>{1, 2, 3, 0, 1, 2, 0, 0}));
  EXPECT_NEAR(results[1].tensor.get_real(0), 3 * first, 1e-5);
  EXPECT_NEAR(results[1].tensor.get_real(1), first + second, 1e-5);
}

/// What a sequence holds may have other ranks than its first tensor: along a new axis that only the first has
/// room for, they do not fit.
TEST(Sequences, AreStackedWhereShapesAgree) {
  ir::Node node = node_of("", "ConcatFromSequence");
  node.attributes["axis"] = attribute(int64_t{2});
  node.attributes["new_axis"] = attribute(int64_t{1});
  const auto stacked = [&](const ir::Shape& second) {
    const Tensor first = Tensor::allocate(ElementType::f32, {2, 3}),
                 other = Tensor::allocate(ElementType::f32, second);
    const Values inputs = {RuntimeValue::sequence({RuntimeValue(first), RuntimeValue(other)})};
    return run_graph_operator(node, inputs, nullptr)[0].tensor.shape();
  };
  EXPECT_EQ(stacked({2, 3}), (ir::Shape{2, 3, 2}));
  for (const ir::Shape& other : {ir::Shape{}, ir::Shape{6}, ir::Shape{3, 2}, ir::Shape{2, 3, 1}})
    EXPECT_THROW(stacked(other), Error) << ir::to_string(ir::to_dims(other));
}

}  // namespace
}  // namespace axrun::runtime
