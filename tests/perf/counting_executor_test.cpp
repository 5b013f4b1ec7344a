#include "perf/limits/counting_executor.h"

#include <gtest/gtest.h>

#include "tests/runtime/models.h"

namespace axrun::perf {
namespace {

using ir::ElementType;
using runtime::RuntimeValue;
using tests::ModelMaker;

ir::Tensor ones(const ir::Shape& shape) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::f32, shape);
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_real(k, 1);
  return tensor;
}

struct Counted {
  ir::OperationCount operations;
  double weight_bytes;
  std::vector<RuntimeValue> outputs;
};

Counted count(ModelMaker& model, const std::vector<ir::Tensor>& inputs) {
  const auto pool = runtime::ThreadPool::make(1);
  CountingExecutor executor(model.graph(), *pool);
  const std::vector<RuntimeValue> values(inputs.begin(), inputs.end());
  std::vector<RuntimeValue> outputs = executor.run(model.graph(), values, {});
  return {executor.operations(), executor.weight_bytes(), std::move(outputs)};
}

TEST(CountingExecutor, WeightsThatNodesShareCountOnce) {
  ModelMaker model;
  const ir::ValueId x = model.input("x", ElementType::f32, {1, 8});
  const ir::ValueId w = model.weights({8, 8}, 1);
  model.output(model.node("MatMul", {model.node("MatMul", {x, w}), w}));
  const Counted found = count(model, {ones({1, 8})});
  EXPECT_EQ(found.operations.contraction, 2 * (2 * 8 * 8));
  EXPECT_EQ(found.weight_bytes, 8 * 8 * 4);
}

TEST(CountingExecutor, WhatIsComputedFromWeightsAloneIsFreeAndReadAsStored) {
  ModelMaker model;
  const ir::ValueId x = model.input("x", ElementType::f32, {1, 8});
  const ir::ValueId bytes = model.constant(ir::Tensor::allocate(ElementType::i8, {8, 16}));
  const ir::ValueId scale = model.constant(ir::Tensor::scalar(ElementType::f32, 0.5));
  model.output(model.node("MatMul", {x, model.node("DequantizeLinear", {bytes, scale})}));
  const Counted found = count(model, {ones({1, 8})});
  EXPECT_EQ(found.operations.contraction, 2 * 8 * 16);
  EXPECT_EQ(found.operations.floating(), found.operations.contraction);
  EXPECT_EQ(found.weight_bytes, 8 * 16 + 4);
}

TEST(CountingExecutor, OfATableOnlyTheRowsThatArePicked) {
  ModelMaker model;
  const ir::ValueId x = model.input("x", ElementType::i64, {3});
  model.output(model.node("Gather", {model.weights({1000, 16}, 1), x}));
  EXPECT_EQ(count(model, {ir::Tensor::from_i64({5, 7, 999})}).weight_bytes, 3 * 16 * 4);
}

TEST(CountingExecutor, LoopsCountTheirIterations) {
  ModelMaker model(16);
  const ir::ValueId trips = model.input("trips", ElementType::i64, {});
  const ir::ValueId state = model.input("state", ElementType::f32, {1, 4});
  const ir::ValueId w = model.weights({4, 4}, 1);
  ModelMaker body(16);
  body.input("i", ElementType::i64, {});
  const ir::ValueId go_on = body.input("go_on", ElementType::boolean, {});
  const ir::ValueId before = body.input("before", ElementType::f32, {1, 4});
  ir::Value captured;
  captured.name = "w";
  const ir::ValueId inside = body.graph().add_value(captured);
  body.graph().captures = {{w, inside}};
  const ir::ValueId after = body.node("MatMul", {before, inside});
  body.output(body.node("Identity", {go_on}), ElementType::boolean);
  body.output(after);
  const auto graph = std::make_shared<ir::Graph>(body.graph());
  model.output(model.node("Loop", {trips, ir::absent, state}, {{"body", ModelMaker::attribute(graph)}}));
  ir::Tensor five = ir::Tensor::allocate(ElementType::i64, {});
  five.set_int(0, 5);
  const Counted found = count(model, {five, ones({1, 4})});
  EXPECT_EQ(found.operations.contraction, 5 * 2 * 4 * 4);
  EXPECT_EQ(found.weight_bytes, 4 * 4 * 4);
}

TEST(CountingExecutor, ComputesWhatTheModelComputes) {
  ModelMaker model = tests::residual_network(2);
  const ir::Tensor x = ModelMaker::random({2, 3, 12, 12}, 9);
  const Counted found = count(model, {x});
  runtime::SessionOptions options;
  options.tier = runtime::Tier::reference;
  const std::vector<RuntimeValue> expected = model.session(options)->run({RuntimeValue(x)});
  ASSERT_EQ(found.outputs[0].tensor.shape(), expected[0].tensor.shape());
  for (int64_t k = 0; k < expected[0].tensor.size(); ++k) {
    EXPECT_NEAR(found.outputs[0].tensor.get_real(k), expected[0].tensor.get_real(k), 1e-5);
  }
  EXPECT_TRUE(found.operations.uncounted.empty());
}

}  // namespace
}  // namespace axrun::perf
