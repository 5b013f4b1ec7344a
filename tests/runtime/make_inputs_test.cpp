#include <gtest/gtest.h>

#include "ir/error.h"
#include "runtime/free_sizes.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::Dim;
using ir::ElementType;
using ir::ValueId;
using runtime::Port;
using runtime::RuntimeValue;

std::vector<RuntimeValue> inputs_of(const ModelMaker& model, uint64_t seed, int64_t free_size = 0,
                                    runtime::Tier tier = runtime::Tier::automatic) {
  runtime::SessionOptions options;
  options.threads = 1;
  options.tier = tier;
  std::vector<std::string> notes;
  auto values = runtime::make_inputs(*model.session(options), options, seed, free_size, &notes);
  EXPECT_EQ(notes.size(), values.size());
  return values;
}

void expect_within(const ir::Tensor& tensor, int64_t low, int64_t high) {
  ASSERT_GT(tensor.size(), 0);
  for (int64_t k = 0; k < tensor.size(); ++k) {
    ASSERT_GE(tensor.get_int(k), low);
    ASSERT_LE(tensor.get_int(k), high);
  }
}

/// ids -> Cast -> Unsqueeze -> Gather from `rows` rows.
ModelMaker embedding(int64_t rows) {
  ModelMaker m;
  ValueId ids = m.input("ids", ElementType::i32, {Dim::symbol("batch"), Dim::symbol("seq")});
  ids = m.node("Cast", {ids}, {{"to", ModelMaker::attribute(int64_t{7})}});
  ids = m.node("Unsqueeze", {ids, m.integers({0})});
  m.output(m.node("Gather", {m.weights({rows, 4}, 1), ids}));
  return m;
}

TEST(MakeInputs, IndicesStayWithinTheTableTheyIndex) {
  for (const auto tier : {runtime::Tier::automatic, runtime::Tier::reference}) {
    const auto values = inputs_of(embedding(5), 3, 64, tier);
    EXPECT_EQ(values[0].tensor.shape(), (ir::Shape{1, 64}));
    expect_within(values[0].tensor, 0, 4);
    bool reaches_top = false;
    for (int64_t k = 0; k < 64; ++k) reaches_top |= values[0].tensor.get_int(k) == 4;
    EXPECT_TRUE(reaches_top) << "64 draws from 5 values";
  }
}

TEST(MakeInputs, TheMadeUpIndicesRun) {
  const ModelMaker model = embedding(3);
  const auto session = model.session();
  EXPECT_EQ(session->run(inputs_of(model, 1, 7))[0].tensor.shape(), (ir::Shape{1, 1, 7, 4}));
}

TEST(MakeInputs, TheSmallestOfSeveralTablesCounts) {
  ModelMaker m;
  const ValueId ids = m.input("ids", ElementType::i64, {100});
  m.output(m.node("Gather", {m.weights({50, 4}, 1), ids}));
  m.output(m.node("Gather", {m.weights({4, 3}, 1), ids}, {{"axis", ModelMaker::attribute(int64_t{1})}}));
  expect_within(inputs_of(m, 0)[0].tensor, 0, 2);
}

TEST(MakeInputs, IndicesOfBodiesCount) {
  ModelMaker m;
  const ValueId choose = m.input("choose", ElementType::boolean, {});
  const ValueId ids = m.input("ids", ElementType::i64, {40});
  const auto branch = [&](int64_t rows) {
    auto body = std::make_shared<ir::Graph>();
    ir::Value inner_ids;
    inner_ids.name = "inner_ids" + std::to_string(rows);
    const ValueId here = body->add_value(inner_ids);
    body->captures.emplace_back(ids, here);
    ir::Value table;
    table.name = "table" + std::to_string(rows);
    table.constant = ModelMaker::random({rows, 2}, 1);
    ir::Value result;
    result.name = "result" + std::to_string(rows);
    ir::Node gather;
    gather.name = "gather" + std::to_string(rows);
    gather.op = "Gather";
    gather.version = 17;
    gather.inputs = {body->add_value(table), here};
    gather.outputs = {body->add_value(result)};
    body->nodes.push_back(gather);
    body->outputs = {gather.outputs[0]};
    return ModelMaker::attribute(body);
  };
  m.output(m.node("If", {choose}, {{"then_branch", branch(6)}, {"else_branch", branch(3)}}));
  expect_within(inputs_of(m, 0)[1].tensor, 0, 2);
}

TEST(MakeInputs, StartsOfSlicesStayWithin) {
  ModelMaker m;
  const ValueId start = m.input("start", ElementType::i64, {1});
  const ValueId end = m.node("Add", {start, m.integers({1})});
  m.output(m.node("Slice", {m.weights({2, 5}, 1), start, end, m.integers({1})}));
  bool moves = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto values = inputs_of(m, seed);
    expect_within(values[0].tensor, 0, 4);
    moves |= values[0].tensor.get_int(0) > 1;
  }
  EXPECT_TRUE(moves) << "axis 1 has 5 elements";
}

TEST(MakeInputs, MasksHideNothingAndFloatsAreSmall) {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {1000});
  const ValueId mask = m.input("attention_mask", ElementType::i64, {1000});
  m.output(m.node("Mul", {x, m.node("Cast", {mask}, {{"to", ModelMaker::attribute(int64_t{1})}})}));
  const auto values = inputs_of(m, 5);
  double low = 0;
  double high = 0;
  for (int64_t k = 0; k < 1000; ++k) {
    low = std::min(low, values[0].tensor.get_real(k));
    high = std::max(high, values[0].tensor.get_real(k));
  }
  EXPECT_GE(low, -1);
  EXPECT_LT(low, -0.9);
  EXPECT_LT(high, 1);
  EXPECT_GT(high, 0.9);
  expect_within(values[1].tensor, 1, 1);
}

TEST(MakeInputs, AComparedInputTakesTheConstant) {
  ModelMaker m;
  const ValueId rate = m.input("rate", ElementType::i64, {});
  ir::Tensor wanted = ir::Tensor::allocate(ElementType::i64, {});
  wanted.set_int(0, 16000);
  m.output(m.node("Equal", {rate, m.constant(wanted)}), ElementType::boolean);
  expect_within(inputs_of(m, 0)[0].tensor, 16000, 16000);
}

TEST(MakeInputs, TheSeedDecidesAndInputsAreIndependent) {
  ModelMaker one;
  one.output(one.node("Relu", {one.input("b", ElementType::f32, {8})}));
  ModelMaker two;
  const ValueId a = two.input("a", ElementType::f32, {3});
  const ValueId b = two.input("b", ElementType::f32, {8});
  two.output(two.node("Relu", {a}));
  two.output(two.node("Relu", {b}));
  const auto same = [](const RuntimeValue& x, const RuntimeValue& y) {
    return std::equal(x.tensor.as<float>(), x.tensor.as<float>() + 8, y.tensor.as<float>());
  };
  EXPECT_TRUE(same(inputs_of(one, 1)[0], inputs_of(one, 1)[0]));
  EXPECT_FALSE(same(inputs_of(one, 1)[0], inputs_of(one, 2)[0]));
  EXPECT_TRUE(same(inputs_of(one, 1)[0], inputs_of(two, 1)[1]));
}

Port port(const std::string& name, const ir::Dims& dims) {
  Port made;
  made.name = name;
  made.type = ElementType::f32;
  made.dims = dims;
  return made;
}

TEST(FreeSizes, FollowTheirPlace) {
  const Dim n = Dim::symbol("N");
  const Dim h = Dim::symbol("height");
  const Dim w = Dim::symbol("width");
  const Dim seq = Dim::symbol("seq");
  const auto sizes = runtime::choose_free_sizes({port("x", {n, 3, h, w}), port("t", {n, seq})}, {}, 0);
  EXPECT_EQ(sizes.at("N"), 1);
  EXPECT_EQ(sizes.at("height"), 224);
  EXPECT_EQ(sizes.at("width"), 224);
  EXPECT_EQ(sizes.at("seq"), 16);
}

TEST(FreeSizes, NamelessBatchesOfInputsAndRecurrentStatesAgree) {
  const std::vector<Port> ports = {port("x", {Dim::symbol("x_dim_0"), Dim::symbol("x_dim_1")}),
                                   port("state", {2, Dim::symbol("state_dim_1"), 128})};
  const auto sizes = runtime::choose_free_sizes(ports, {}, 512);
  EXPECT_EQ(sizes.at("x_dim_0"), 1);
  EXPECT_EQ(sizes.at("x_dim_1"), 512);
  EXPECT_EQ(sizes.at("state_dim_1"), 1);
}

TEST(FreeSizes, GivenOnesStayAndOthersFollow) {
  const Dim total = Dim::symbol("total_sequence_length");
  const Dim next = Dim::symbol("past_sequence_length + 1");
  const std::vector<Port> ports = {
      port("mask", {Dim::symbol("batch"), total}), port("out", {next}),
      port("ids", {Dim::symbol("batch"), Dim::symbol("sequence_length")}),
      port("past", {Dim::symbol("batch"), 4, Dim::symbol("past_sequence_length"), 8})};
  const auto sizes = runtime::choose_free_sizes(ports, {{"past_sequence_length", 7}, {"batch", 2}}, 5);
  EXPECT_EQ(sizes.at("batch"), 2);
  EXPECT_EQ(sizes.at("sequence_length"), 5);
  EXPECT_EQ(sizes.at("total_sequence_length"), 12);
  EXPECT_EQ(sizes.at("past_sequence_length + 1"), 8);
}

TEST(FreeSizes, NegativeSizesAreRefused) {
  EXPECT_THROW(runtime::shape_under(port("x", {Dim::symbol("n") - Dim(5)}), {{"n", 2}}), Error);
  EXPECT_THROW(runtime::shape_under(port("x", {Dim::symbol("n")}), {}), Error);
}

}  // namespace
}  // namespace axrun::tests
