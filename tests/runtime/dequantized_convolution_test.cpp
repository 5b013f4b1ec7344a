// Convolutions between DequantizeLinear and QuantizeLinear are computed on bytes, as exactly as floats would
// be.
#include <gtest/gtest.h>

#include <random>

#include "runtime/plan/plan.h"
#include "tests/kernels/seed.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::ValueId;
using runtime::RuntimeValue;

/// What a model is made of.
struct Layer {
  ElementType x_type = ElementType::u8, w_type = ElementType::i8, y_type = ElementType::u8;
  int64_t channels = 5, out_channels = 7, groups = 1, kernel = 3, stride = 1, pad = 1, height = 9, width = 11;
  bool per_channel = true, x_zero = true, w_zero = false, y_zero = true;
  enum class Bias { none, floats, bytes } bias = Bias::bytes;
  enum class Activation { none, relu, clip } activation = Activation::none;
  bool narrows = true;  ///< QuantizeLinear follows
};

constexpr double y_scale = 0.125;

class LayerMaker {
 public:
  explicit LayerMaker(uint64_t seed) : random_(seed) {}
  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  bool chance(int percent) { return integer(0, 99) < percent; }

  ir::Tensor integers(ElementType type, const ir::Shape& shape, int64_t low, int64_t high) {
    ir::Tensor tensor = ir::Tensor::allocate(type, shape);
    for (int64_t i = 0; i < tensor.size(); ++i) tensor.set_int(i, integer(low, high));
    return tensor;
  }
  ir::Tensor zeros(ElementType type, const ir::Shape& shape) {
    return type == ElementType::u8 ? integers(type, shape, 90, 160) : integers(type, shape, -40, 40);
  }
  ir::Tensor scales(const ir::Shape& shape) {
    ir::Tensor tensor = ir::Tensor::allocate(ElementType::f32, shape);
    for (int64_t i = 0; i < tensor.size(); ++i)
      tensor.set_real(i, std::uniform_real_distribution<double>(0.002, 0.02)(random_));
    return tensor;
  }

  Layer draw() {
    Layer l;
    const auto type = [&] { return chance(50) ? ElementType::u8 : ElementType::i8; };
    l.x_type = type(), l.w_type = type(), l.y_type = type();
    l.groups = chance(60) ? 1 : integer(2, 6);
    l.channels = l.groups * integer(1, 6), l.out_channels = l.groups * (chance(40) ? 1 : integer(1, 20));
    l.kernel = integer(1, 5), l.stride = integer(1, 3), l.pad = integer(0, l.kernel - 1);
    l.height = l.kernel + integer(0, 12), l.width = l.kernel + integer(0, 30);
    l.per_channel = chance(60), l.x_zero = chance(80), l.w_zero = chance(40), l.y_zero = chance(80);
    l.bias = static_cast<Layer::Bias>(integer(0, 2));
    l.activation = static_cast<Layer::Activation>(integer(0, 2));
    l.narrows = chance(70);
    return l;
  }

  /// The layer after a QuantizeLinear, and before a DequantizeLinear where it narrows.
  void make(const Layer& l, ModelMaker& m) {
    const ir::Shape one;
    const auto quantization = [&](ValueId of, ElementType type, const ir::Shape& shape, bool zero) {
      std::vector<ValueId> inputs = {of, m.constant(scales(shape))};
      if (zero) inputs.push_back(m.constant(zeros(type, shape)));
      return inputs;
    };
    const ValueId x = m.input("x", ElementType::f32, {2, l.channels, l.height, l.width});
    std::vector<ValueId> parameters = quantization(x, l.x_type, one, true);
    if (!l.x_zero && l.x_type == ElementType::u8) parameters.pop_back();
    const ValueId bytes = m.node("QuantizeLinear", parameters);
    parameters[0] = bytes;
    std::vector<ValueId> operands = {m.node("DequantizeLinear", parameters)};
    const ir::Shape kernel = {l.out_channels, l.channels / l.groups, l.kernel, l.kernel};
    const ValueId w = m.constant(l.w_type == ElementType::u8 ? integers(l.w_type, kernel, 0, 255)
                                                             : integers(l.w_type, kernel, -128, 127));
    const ir::Shape channels = {l.out_channels};
    const auto axis = ModelMaker::attribute(int64_t{0});
    operands.push_back(m.node("DequantizeLinear",
                              quantization(w, l.w_type, l.per_channel ? channels : one, l.w_zero),
                              {{"axis", axis}}));
    if (l.bias == Layer::Bias::floats) operands.push_back(m.weights({l.out_channels}, 3));
    if (l.bias == Layer::Bias::bytes) {
      const ValueId sums = m.constant(integers(ElementType::i32, channels, -300, 300));
      operands.push_back(m.node("DequantizeLinear",
                                quantization(sums, ElementType::i32, l.per_channel ? channels : one, false),
                                {{"axis", axis}}));
    }
    ValueId value = m.node("Conv", operands,
                           {{"pads", ModelMaker::attribute(std::vector<int64_t>(4, l.pad))},
                            {"strides", ModelMaker::attribute(std::vector<int64_t>(2, l.stride))},
                            {"group", ModelMaker::attribute(l.groups)}});
    if (l.activation == Layer::Activation::relu) value = m.node("Relu", {value});
    if (l.activation == Layer::Activation::clip) {
      value = m.node("Clip", {value, m.constant(ir::Tensor::scalar(ElementType::f32, -3)),
                              m.constant(ir::Tensor::scalar(ElementType::f32, 6))});
    }
    if (l.narrows) {
      std::vector<ValueId> to = {value, m.constant(ir::Tensor::scalar(ElementType::f32, y_scale))};
      if (l.y_zero || l.y_type == ElementType::i8) to.push_back(m.constant(zeros(l.y_type, one)));
      to[0] = m.node("QuantizeLinear", to);
      value = m.node("DequantizeLinear", to);
    }
    m.output(value);
  }

 private:
  std::mt19937_64 random_;
};

/// The kernels of the model's steps.
std::vector<std::string> kernels_of(const ModelMaker& m) {
  runtime::SessionOptions how;
  how.threads = 1;
  const auto session = m.session(how);
  runtime::PlanOptions options;
  options.threads = 1;
  options.packs = std::make_shared<runtime::PackCache>();
  const auto& graph = session->model().graph;
  ir::ValueFact fact;
  fact.type = graph->value(graph->inputs[0]).type;
  fact.dims = graph->value(graph->inputs[0]).dims;
  const auto plan = runtime::build_plan(graph, graph->inputs, {fact}, options);
  std::vector<std::string> found;
  for (const runtime::Step& step : plan->steps()) found.push_back(step.kernel->describe());
  return found;
}

TEST(DequantizedConvolution, AgreesWithTheReference) {
  LayerMaker maker(test_seed());
  for (int repeat = 0; repeat < 120; ++repeat) {
    const Layer l = maker.draw();
    ModelMaker m;
    maker.make(l, m);
    runtime::SessionOptions fast, slow;
    fast.tier = runtime::Tier::fallback, slow.tier = runtime::Tier::reference;
    fast.threads = static_cast<int>(maker.integer(1, 3));
    const ir::Tensor input = ModelMaker::random({2, l.channels, l.height, l.width}, 5);
    const auto got = m.session(fast)->run({RuntimeValue(input)})[0].tensor;
    const auto want = m.session(slow)->run({RuntimeValue(input)})[0].tensor;
    ASSERT_EQ(got.shape(), want.shape());
    int64_t others = 0;
    for (int64_t i = 0; i < want.size(); ++i) {
      // What lies in the middle between two bytes may become either.
      const double difference = std::abs(got.get_real(i) - want.get_real(i));
      ASSERT_LE(difference, l.narrows ? y_scale + 1e-4 : 1e-4) << i << " seed " << test_seed();
      others += difference > 1e-4 ? 1 : 0;
    }
    ASSERT_LE(others, 1 + want.size() / 200) << "seed " << test_seed();
  }
}

std::string kernel_of(const Layer& l) {
  LayerMaker maker(1);
  ModelMaker m;
  maker.make(l, m);
  return kernels_of(m)[1];
}

TEST(DequantizedConvolution, IsOneStep) {
  Layer l;
  EXPECT_EQ(kernel_of(l), "byte convolution 2x 5->7 9x11 k3x3 s1");
  l.activation = Layer::Activation::relu, l.bias = Layer::Bias::floats;
  EXPECT_EQ(kernel_of(l), "byte convolution 2x 5->7 9x11 k3x3 s1");
  l.narrows = false, l.groups = l.channels = l.out_channels = 4, l.stride = 2;
  EXPECT_EQ(kernel_of(l), "byte convolution 2x 4->4 5x6 k3x3 s2 g4 to float");
}

/// A vector of channels' work.
TEST(DequantizedConvolution, OfOnePixelIsOfFloats) {
  Layer l;
  l.height = l.width = l.kernel = 1, l.pad = 0;
  EXPECT_EQ(kernel_of(l).find("byte convolution"), std::string::npos);
}

}  // namespace
}  // namespace axrun::tests
