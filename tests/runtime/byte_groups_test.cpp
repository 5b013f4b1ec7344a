// Steps between bytes: what makes floats of them and bytes of the result goes with what lies between.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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
    for (const runtime::Step& step : plan->steps()) found.push_back(step.work->ops);
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
  EXPECT_EQ(c.ops()[1], "DequantizeLinear+DequantizeLinear+Conv+QuantizeLinear");
  c.expect_right();
}

/// Weights of 16 bits too, where nothing else is bytes; those that two steps read are f32 in memory.
TEST(ByteGroups, WeightsOf16BitsCanBeReadAsSuch) {
  for (const bool shared : {false, true}) {
    Chain c;
    ir::Tensor halves = ir::Tensor::allocate(ElementType::bf16, {6, 6, 3, 3});
    for (int64_t i = 0; i < halves.size(); ++i) halves.set_real(i, static_cast<double>(i % 17 - 8) / 16);
    const ValueId weights =
        c.m.node("Cast", {c.m.constant(halves)}, {{"to", ModelMaker::attribute(int64_t{1})}});
    const auto convolved = [&](ValueId id) {
      const auto pads = ModelMaker::attribute(std::vector<int64_t>{1, 1, 1, 1});
      return c.m.node("Conv", {id, weights}, {{"pads", pads}});
    };
    c.m.output(shared ? convolved(convolved(c.x)) : convolved(c.x));
    EXPECT_EQ(c.ops(), shared ? (Ops{"Conv", "Conv"}) : (Ops{"Cast+Conv"}));
    c.expect_right();
  }
}

TEST(ByteGroups, ReadersOfTheSameFloatsReadTheBytes) {
  Chain c;
  const ValueId floats = c.floats(c.quantized(c.x));
  const ValueId sum = c.convolved(floats, 1);
  c.m.output(c.m.node("Add", {c.floats(c.quantized(sum)), floats}));
  const Ops ops = c.ops();
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "DequantizeLinear+Conv+QuantizeLinear"), 1)
      << ::testing::PrintToString(ops);
  c.expect_right();
}

TEST(ByteGroups, ElementwiseWorkBetweenBytesIsOneStep) {
  Chain c;
  const ValueId one = c.quantized(c.x), other = c.quantized(c.convolved(c.floats(one), 1));
  const ValueId sum = c.m.node("Add", {c.floats(other), c.floats(one)});
  c.m.output(c.convolved(c.floats(c.quantized(sum)), 3));
  EXPECT_EQ(c.ops(), (Ops{"QuantizeLinear", "DequantizeLinear+Conv+QuantizeLinear",
                          "DequantizeLinear+DequantizeLinear+Add+QuantizeLinear", "DequantizeLinear+Conv"}));
  c.expect_right();
}

TEST(ByteGroups, FloatsThatAreReadElsewhereTooStay) {
  Chain c;
  const ValueId sum = c.convolved(c.floats(c.quantized(c.x)), 1);
  c.m.output(c.m.node("Add", {c.floats(c.quantized(sum)), sum}));
  const Ops ops = c.ops();
  EXPECT_EQ(std::count(ops.begin(), ops.end(), "DequantizeLinear+Conv"), 1) << ::testing::PrintToString(ops);
  c.expect_right();
}

/// Nodes of a kind, and of all kinds the names.
int count_of(const ir::Graph& graph, const std::string& op) {
  return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                        [&](const ir::Node& node) { return node.op == op; }));
}

TEST(OwnWidening, EveryReaderHasOneNodeAndOutputsKeepTheFirst) {
  Chain c;
  const ValueId floats = c.floats(c.quantized(c.x));
  c.m.output(c.m.node("Mul", {floats, floats}));
  c.m.output(c.m.node("Sin", {floats}));
  c.m.output(floats);
  runtime::SessionOptions how;
  how.threads = 1;
  how.tier = runtime::Tier::fallback;
  const auto session = c.m.session(how);
  const ir::Graph& graph = *session->model().graph;
  EXPECT_EQ(count_of(graph, "DequantizeLinear"), 3);
  std::set<std::string> nodes, values;
  for (const ir::Node& node : graph.nodes) {
    EXPECT_TRUE(nodes.insert(node.name).second) << node.name;
    for (const ValueId id : node.outputs) EXPECT_TRUE(values.insert(graph.value(id).name).second);
    if (node.op == "Mul") {
      EXPECT_EQ(node.inputs[0], node.inputs[1]);
    }
  }
  how.tier = runtime::Tier::reference;
  const auto slow = c.m.session(how);
  EXPECT_EQ(count_of(*slow->model().graph, "DequantizeLinear"), 1);
  const ir::Tensor input = ModelMaker::random({1, 6, 9, 10}, 5);
  const auto got = session->run({RuntimeValue(input)}), want = slow->run({RuntimeValue(input)});
  ASSERT_EQ(got.size(), 3U);
  for (size_t k = 0; k < got.size(); ++k) {
    for (int64_t i = 0; i < want[k].tensor.size(); ++i)
      ASSERT_NEAR(got[k].tensor.get_real(i), want[k].tensor.get_real(i), 1e-5) << k << ' ' << i;
  }
}

TEST(OwnWidening, OneReaderNeedsNoOther) {
  Chain c;
  c.m.output(c.m.node("Sin", {c.floats(c.quantized(c.x))}));
  EXPECT_EQ(count_of(*c.m.session()->model().graph, "DequantizeLinear"), 1);
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
