// A convolution between DequantizeLinear and QuantizeLinear, whose kernel no table of factories has, made
// again at other sizes.
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/operators/dequantized_convolution.h"
#include "tests/kernels/seed.h"
#include "tests/operators/generators.h"
#include "tests/operators/open_step.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;
using ir::Tensor;

struct Convolution {
  Tensor weights, scales;
  bool same_pads = false, to_bytes = false;

  explicit Convolution(Random& random) {
    weights = random.tensor(ElementType::i8, {random.integer(1, 20), 3, 3, 2}, -100, 100);
    scales = random.floats({weights.shape()[0]}, 0.01, 0.1);
    same_pads = random.chance(50);
    to_bytes = random.chance(50);
  }
  Case at(Random& random, int64_t batch, int64_t height, int64_t width) const {
    Case c;
    const auto dequantized = [&](const Tensor& bytes, bool is_constant, const Tensor& by) {
      return NodeBuilder(c, "DequantizeLinear", 13)
          .input(bytes, is_constant)
          .constant(by)
          .integer("axis", 0)
          .output();
    };
    const ir::ValueId x = dequantized(random.tensor(ElementType::u8, {batch, 3, height, width}, 0, 255),
                                      false, Tensor::scalar(ElementType::f32, 0.05));
    const ir::ValueId w = dequantized(weights, true, scales);
    NodeBuilder conv(c, "Conv", 13);
    conv.value(x).value(w).integers("strides", {2, 1});
    if (same_pads) conv.text("auto_pad", "SAME_UPPER");
    const ir::ValueId y = conv.output();
    if (to_bytes)
      NodeBuilder(c, "QuantizeLinear", 13)
          .value(y)
          .constant(Tensor::scalar(ElementType::f32, 0.5))
          .constant(Tensor::scalar(ElementType::u8, 128))
          .output();
    return c;
  }
};

OpenPorts ports_at(const StepContext& context) {
  const auto dims_of = [](const StepPort& port) {
    OpenPorts::Dims dims;
    for (const int64_t extent : port.shape) dims.push_back({OpenPorts::Dim::nowhere, extent});
    return dims;
  };
  OpenPorts ports;
  for (const StepPort& port : context.inputs) ports.inputs.push_back(dims_of(port));
  for (const StepPort& port : context.outputs) ports.outputs.push_back(dims_of(port));
  return ports;
}

TEST(ResizedBytes, DequantizedConvolutionsGiveWhatThoseOfTheseSizesGive) {
  Random random(test_seed());
  const auto pool = ThreadPool::make(1);
  int resized = 0;
  for (int round = 0; round < 40; ++round) {
    const Convolution convolution(random);
    const Case given = convolution.at(random, 1, random.integer(3, 12), random.integer(3, 12));
    const Case other =
        convolution.at(random, random.integer(1, 3), random.integer(3, 20), random.integer(2, 20));
    const auto step = step_of(given), there = step_of(other);
    ASSERT_NE(step, nullptr);
    ASSERT_NE(there, nullptr);
    const auto kernel = make_dequantized_convolution(step->context());
    const auto anew = make_dequantized_convolution(there->context());
    if (kernel == nullptr) continue;
    const auto made = kernel->resized({ports_at(there->context()), {}});
    if (anew == nullptr) {
      EXPECT_EQ(made, nullptr);
      continue;
    }
    if (made == nullptr) continue;
    ++resized;
    EXPECT_EQ(made->describe(), anew->describe());
    EXPECT_EQ(made->scratch_bytes(), anew->scratch_bytes());
    const Tensor got = there->run(*made, *pool)[0], wanted = there->run(*anew, *pool)[0];
    ASSERT_EQ(got.bytes(), wanted.bytes());
    EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.bytes()), 0) << other.describe();
  }
  EXPECT_GT(resized, 20);
}

}  // namespace
}  // namespace axrun::runtime
