#include "runtime/plan/fold_weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ir/dim.h"
#include "tests/operators/random.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

/// A graph with one input and nodes on constants.
class FoldWeights : public testing::Test {
 protected:
  ir::ValueId constant(ir::Tensor tensor) {
    ir::Value value;
    value.name = "c" + std::to_string(graph_.values.size());
    value.type = tensor.type();
    value.dims = ir::to_dims(tensor.shape());
    value.constant = std::move(tensor);
    return graph_.add_value(std::move(value));
  }
  ir::ValueId input(ElementType type, const ir::Shape& shape) {
    ir::Value value;
    value.name = "x";
    value.type = type;
    value.dims = ir::to_dims(shape);
    const ir::ValueId id = graph_.add_value(std::move(value));
    graph_.inputs.push_back(id);
    return id;
  }
  ir::ValueId node(const char* op, std::vector<ir::ValueId> inputs) {
    ir::Value value;
    value.name = "v" + std::to_string(graph_.values.size());
    const ir::ValueId result = graph_.add_value(std::move(value));
    ir::Node node;
    node.name = op;
    node.op = op;
    node.version = 21;
    node.inputs = std::move(inputs);
    node.outputs = {result};
    graph_.nodes.push_back(std::move(node));
    return result;
  }
  size_t fold() {
    folded_ = fold_weights(graph_, *pool_);
    return folded_.size();
  }

  ir::Graph graph_;
  Random random_{7};
  std::unique_ptr<ThreadPool> pool_ = ThreadPool::make(1);
  std::vector<FoldedNode> folded_;
};

TEST_F(FoldWeights, BytesBecomeFloatsThroughEveryNode) {
  const ir::Tensor bytes = random_.tensor(ElementType::u8, {200, 300}, 0, 255);
  const ir::ValueId scale = constant(ir::Tensor::scalar(ElementType::f32, 0.5));
  const ir::ValueId weights = node("DequantizeLinear", {constant(bytes), scale});
  const ir::ValueId turned = node("Transpose", {weights});
  graph_.outputs = {node("MatMul", {input(ElementType::f32, {1, 300}), turned})};
  EXPECT_EQ(fold(), 2u);
  ASSERT_EQ(graph_.nodes.size(), 1u);
  EXPECT_EQ(graph_.nodes[0].op, "MatMul");
  const ir::Tensor& folded = graph_.value(turned).constant;
  ASSERT_EQ(folded.shape(), (ir::Shape{300, 200}));
  for (int64_t i = 0; i < 200; ++i) {
    for (int64_t j = 0; j < 300; ++j)
      ASSERT_EQ(folded.get_real(j * 200 + i), 0.5 * bytes.get_real(i * 300 + j));
  }
}

/// Every one of them; the node stays beside its result, for those who would rather read 16 bits.
TEST_F(FoldWeights, FloatsOf16BitsBecomeWider) {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    graph_ = {};
    ir::Tensor halves = ir::Tensor::allocate(type, {256, 256});
    for (int64_t i = 0; i < halves.size(); ++i) halves.as<uint16_t>()[i] = static_cast<uint16_t>(i);
    const ir::ValueId weights = node("Cast", {constant(halves)});
    ir::Attribute to;
    to.kind = ir::Attribute::Kind::integer;
    to.integer = 1;
    graph_.nodes[0].attributes["to"] = to;
    graph_.outputs = {node("MatMul", {input(ElementType::f32, {1, 256}), weights})};
    EXPECT_EQ(fold(), 1u);
    EXPECT_EQ(graph_.nodes.size(), 2u);
    const ir::Tensor& folded = graph_.value(weights).constant;
    ASSERT_EQ(folded.type(), ElementType::f32);
    for (int64_t i = 0; i < halves.size(); ++i) {
      const double got = folded.get_real(i), want = halves.get_real(i);
      ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << i << ' ' << got << ' ' << want;
    }
  }
}

TEST_F(FoldWeights, WhatWasComputedOfWhatIsTold) {
  const ir::Tensor bytes = random_.tensor(ElementType::u8, {200, 300}, 0, 255);
  const ir::ValueId scale = constant(ir::Tensor::scalar(ElementType::f32, 0.5));
  const ir::ValueId weights = node("DequantizeLinear", {constant(bytes), scale});
  const ir::ValueId turned = node("Transpose", {weights});
  graph_.outputs = {node("MatMul", {input(ElementType::f32, {1, 300}), turned})};
  ASSERT_EQ(fold(), 2u);
  ASSERT_EQ(folded_[0].inputs.size(), 2u);
  EXPECT_EQ(folded_[0].inputs[0].data(), bytes.data());
  EXPECT_EQ(folded_[0].results[0].data(), folded_[1].inputs[0].data());
  EXPECT_EQ(folded_[1].results[0].data(), graph_.value(turned).constant.data());
  // Nobody reads what lies between, nor the bytes.
  EXPECT_FALSE(graph_.value(weights).constant.defined());
  EXPECT_FALSE(graph_.value(scale).constant.defined());
}

TEST_F(FoldWeights, NodesThatMakeFloatsOfBytesStayForWhoReadsThem) {
  const ir::Tensor bytes = random_.tensor(ElementType::i8, {200, 300}, -128, 127);
  const ir::ValueId scale = constant(ir::Tensor::scalar(ElementType::f32, 0.5));
  const ir::ValueId weights = node("DequantizeLinear", {constant(bytes), scale});
  graph_.outputs = {node("MatMul", {input(ElementType::f32, {1, 200}), weights})};
  EXPECT_EQ(fold(), 1u);
  ASSERT_EQ(graph_.nodes.size(), 2u);
  EXPECT_EQ(graph_.nodes[0].op, "DequantizeLinear");
  const ir::Tensor folded = graph_.value(weights).constant;
  ASSERT_TRUE(folded.defined());
  EXPECT_EQ(fold(), 0u);
  EXPECT_EQ(graph_.nodes.size(), 2u);
  EXPECT_EQ(graph_.value(weights).constant.data(), folded.data());
}

TEST_F(FoldWeights, WhatGrowsTooMuchIsLeftToTheRun) {
  const ir::ValueId shape = constant(ir::Tensor::from_i64({500, 500}));
  graph_.outputs = {node("Expand", {constant(random_.floats({1, 500})), shape})};
  EXPECT_EQ(fold(), 0u);
  EXPECT_EQ(graph_.nodes.size(), 1u);
}

TEST_F(FoldWeights, BadDataIsLeftToTheRun) {
  const ir::ValueId indices = constant(random_.tensor(ElementType::i64, {200}, 900, 900));
  graph_.outputs = {node("Gather", {constant(random_.floats({200, 3})), indices})};
  EXPECT_EQ(fold(), 0u);
  EXPECT_EQ(graph_.nodes.size(), 1u);
}

}  // namespace
}  // namespace axrun::runtime
