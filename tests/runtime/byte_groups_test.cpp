// Steps between bytes: what makes floats of them and bytes of the result goes with what lies between.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/plan/kernel_source.h"
#include "runtime/plan/plan.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::ValueId;
using runtime::RuntimeValue;

ir::Tensor byte(int64_t value) {
  ir::Tensor tensor = ir::Tensor::allocate(ElementType::u8, {});
  tensor.as<uint8_t>()[0] = static_cast<uint8_t>(value);
  return tensor;
}

struct Chain {
  ModelMaker m;
  ValueId scale, zero, x;
  Chain() {
    scale = m.constant(ir::Tensor::scalar(ElementType::f32, 0.0625));
    zero = m.constant(byte(117));
    x = m.input("x", ElementType::f32, {1, 6, 9, 10});
  }
  ValueId quantized(ValueId id) { return m.node("QuantizeLinear", {id, scale, zero}); }
  ValueId floats(ValueId id) { return m.node("DequantizeLinear", {id, scale, zero}); }
  ValueId convolved(ValueId id, uint64_t seed) {
    const auto pads = ModelMaker::attribute(std::vector<int64_t>{1, 1, 1, 1});
    return m.node("Conv", {id, m.weights({6, 6, 3, 3}, seed), m.weights({6}, seed + 1)}, {{"pads", pads}});
  }
  std::vector<std::string> ops(const std::shared_ptr<runtime::KernelSource>& kernels = nullptr) const {
    runtime::SessionOptions how;
    how.threads = 1;
    const auto session = m.session(how);
    runtime::PlanOptions options;
    options.threads = 1;
    options.packs = std::make_shared<runtime::PackCache>();
    options.kernels = kernels;
    ir::ValueFact fact;
    fact.type = ElementType::f32;
    fact.dims = ir::Dims{1, 6, 9, 10};
    const auto& graph = session->model().graph;
    const auto plan = runtime::build_plan(graph, graph->inputs, {fact}, options);
    std::vector<std::string> found;
    for (const runtime::Step& step : plan->steps()) found.push_back(step.ops);
    return found;
  }
  /// As the reference has it.
  void expect_right() const {
    runtime::SessionOptions fast, slow;
    fast.tier = runtime::Tier::fallback;
    slow.tier = runtime::Tier::reference;
    fast.threads = slow.threads = 1;
    const ir::Tensor input = ModelMaker::random({1, 6, 9, 10}, 5);
    const auto got = m.session(fast)->run({RuntimeValue(input)})[0].tensor;
    const auto want = m.session(slow)->run({RuntimeValue(input)})[0].tensor;
    ASSERT_EQ(got.shape(), want.shape());
    for (int64_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got.get_real(i), want.get_real(i), 1e-4) << i;
  }
};

using Ops = std::vector<std::string>;

TEST(ByteGroups, AConvolutionTakesBytesAndGivesThem) {
  Chain c;
  const ValueId hidden = c.m.node("Relu", {c.convolved(c.floats(c.quantized(c.x)), 1)});
  c.m.output(c.convolved(c.floats(c.quantized(hidden)), 3));
  EXPECT_EQ(c.ops(),
            (Ops{"QuantizeLinear", "DequantizeLinear+Conv+Relu+QuantizeLinear", "DequantizeLinear+Conv"}));
  c.expect_right();
}

TEST(ByteGroups, WeightsThatAreBytesCanBeReadAsSuch) {
  Chain c;
  ir::Tensor bytes = ir::Tensor::allocate(ElementType::i8, {6, 6, 3, 3});
  for (int64_t i = 0; i < bytes.size(); ++i) bytes.as<int8_t>()[i] = static_cast<int8_t>(i * 7);
  const ValueId weights = c.m.node("DequantizeLinear", {c.m.constant(bytes), c.scale});
  const ValueId sum = c.m.node("Conv", {c.floats(c.quantized(c.x)), weights});
  c.m.output(c.floats(c.quantized(sum)));
  EXPECT_EQ(c.ops()[1], "DequantizeLinear+DequantizeLinear+Conv");
  c.expect_right();
}

TEST(ByteGroups, WhatIsReadElsewhereTooStaysAStep) {
  Chain c;
  const ValueId floats = c.floats(c.quantized(c.x));
  const ValueId sum = c.convolved(floats, 1);
  c.m.output(c.m.node("Add", {c.floats(c.quantized(sum)), floats}));
  const Ops ops = c.ops();
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "Conv"), 1) << ::testing::PrintToString(ops);
  c.expect_right();
}

/// Nothing is found for a whole, and nothing will be.
class Settled final : public runtime::KernelSource {
 public:
  explicit Settled(bool open) : open_(open) {}
  Found find(const ir::Graph&, const std::vector<int>& nodes, const runtime::StepContext&) override {
    return {nullptr, open_ && nodes.size() > 2};
  }

 private:
  bool open_;
};

TEST(ByteGroups, PartsAreStepsOnceNoKernelTakesTheWhole) {
  Chain c;
  c.m.output(c.convolved(c.floats(c.quantized(c.convolved(c.floats(c.quantized(c.x)), 1))), 3));
  EXPECT_EQ(c.ops(std::make_shared<Settled>(true)),
            (Ops{"QuantizeLinear", "DequantizeLinear+Conv+QuantizeLinear", "DequantizeLinear", "Conv"}));
  EXPECT_EQ(c.ops(std::make_shared<Settled>(false)), (Ops{"QuantizeLinear", "DequantizeLinear", "Conv",
                                                          "QuantizeLinear", "DequantizeLinear", "Conv"}));
}

}  // namespace
}  // namespace axrun::tests
