// Expected values are ONNX Runtime 1.32's on the same inputs.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

Tensor positive(const Shape& shape, double factor) {
  Tensor tensor = quarters(shape, factor);
  for (int64_t k = 0; k < tensor.size(); ++k) tensor.set_real(k, std::fabs(tensor.get_real(k)));
  return tensor;
}

void expect_rows_near(const Tensor& got, const std::vector<double>& want, int64_t row = 0) {
  const int64_t stride = row == 0 ? static_cast<int64_t>(want.size()) : row;
  const int64_t width = row == 0 ? stride : static_cast<int64_t>(want.size()) / (got.size() / row);
  for (size_t k = 0; k < want.size(); ++k) {
    const int64_t at = static_cast<int64_t>(k) / width * stride + static_cast<int64_t>(k) % width;
    EXPECT_NEAR(got.get_real(at), want[k], 4e-6 * std::max(1.0, std::fabs(want[k]))) << k;
  }
}

NodeUnderTest mixture(const std::string& activation, int64_t normalised) {
  const int64_t fused = activation == "swiglu" ? 2 : 1;
  NodeUnderTest node = microsoft("MoE")
                           .input(quarters({1, 2, 2}))
                           .input(quarters({2, 3}))
                           .input(quarters({3, fused * 2, 2}))
                           .input(quarters({3, fused * 2}, 0.5))
                           .input(quarters({3, 2, 2}))
                           .input(quarters({3, 2}, 0.25))
                           .set("k", int64_t{2})
                           .set("activation_type", activation)
                           .set("normalize_routing_weights", normalised);
  if (fused == 2) {
    node.set("swiglu_fusion", int64_t{1})
        .set_real("activation_alpha", 1.5)
        .set_real("activation_beta", 1)
        .set_real("swiglu_limit", 0.75);
  }
  return node;
}

TEST(MicrosoftExperts, MixtureOfTheBestTwo) {
  const Tensor result = mixture("silu", 0).run();
  EXPECT_EQ(result.shape(), (Shape{1, 2, 2}));
  expect_rows_near(result, {-0.3998823, -0.03349352, 0.002430893, 1.477728});
  expect_rows_near(mixture("silu", 1).run(), {-0.450683, -0.0377485, 0.002671398, 1.623932});
}

TEST(MicrosoftExperts, GatesLieInterleavedAndAreLimited) {
  expect_rows_near(mixture("swiglu", 0).run(), {-0.1927518, 0.3325293, -0.9263864, -0.2175926});
  expect_rows_near(mixture("swiglu", 1).run(), {-0.2172388, 0.3747735, -1.018041, -0.2391207});
}

TEST(MicrosoftExperts, WeightsOfFewBits) {
  const auto run = [](int64_t bits) {
    return microsoft("QMoE")
        .input(quarters({2, 32}, 0.25))
        .input(quarters({2, 3}))
        .input(bytes({3, 64, 32 * bits / 8}))
        .input(positive({3, 64}, 1.0 / 16))
        .absent_input()
        .input(bytes({3, 32, 32 * bits / 8}))
        .input(positive({3, 32}, 1.0 / 64))
        .set("k", int64_t{2})
        .set("expert_weight_bits", bits)
        .set("activation_type", std::string("swiglu"))
        .set("swiglu_fusion", int64_t{1})
        .set("normalize_routing_weights", int64_t{1})
        .run();
  };
  expect_rows_near(run(4),
                   {-0.003713778, 0.004823119, -0.003638773, -0.004498719, 0.001250064, -0.003208939,
                    0.0005391653, -0.001981268, 0.00184134, 0.0007859038},
                   32);
  expect_rows_near(run(8),
                   {-0.03130925, 18.89836, -4.514026, -5.009653, 0.9339917, -1.101975, 0.618481, -0.2311828,
                    0.272363, -0.3925164},
                   32);
}

TEST(MicrosoftExperts, MixturesThatDoNotFitAreRefused) {
  EXPECT_THROW(mixture("softmax", 0).run(), Error);
  EXPECT_THROW(mixture("silu", 0).set("k", int64_t{4}).run(), Error);
  EXPECT_THROW(mixture("silu", 0).set("use_sparse_mixer", int64_t{1}).run(), Error);
}

TEST(CropAndResize, RegionsAreInPartsOfTheImage) {
  const auto crop = [](const std::vector<double>& region, const std::vector<int64_t>& size,
                       const char* mode) {
    return to_reals(microsoft("CropAndResize")
                        .input(reals({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}))
                        .input(reals({1, 4}, region))
                        .input(ints({1}, {0}, ElementType::i32))
                        .input(ints({2}, size, ElementType::i32))
                        .set("mode", std::string(mode))
                        .set_real("extrapolation_value", 9)
                        .run());
  };
  EXPECT_EQ(crop({0, 0, 1, 1}, {2, 3}, "bilinear"), (Reals{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(crop({1, 1, 0, 0}, {2, 3}, "nearest"), (Reals{6, 5, 4, 3, 2, 1}));
  // One point is in the middle of the region.
  EXPECT_EQ(crop({0, 0, 1, 1}, {1, 1}, "bilinear"), (Reals{3.5}));
  EXPECT_EQ(crop({0, 0.25, 1, 0.75}, {1, 2}, "bilinear"), (Reals{3, 4}));
  EXPECT_EQ(crop({0, 0.25, 0, 0.75}, {1, 2}, "nearest"), (Reals{2, 3}));
  EXPECT_EQ(crop({0, -0.5, 0, 1.5}, {1, 3}, "bilinear"), (Reals{9, 2, 9}));
  EXPECT_THROW(crop({0, 0, 1, 1}, {0, 1}, "bilinear"), Error);
}

TEST(MicrosoftPooling, ChannelsLast) {
  const Tensor result = microsoft("NhwcMaxPool")
                            .input(bytes({1, 3, 4, 2}))
                            .set("kernel_shape", std::vector<int64_t>{2, 2})
                            .set("strides", std::vector<int64_t>{1, 2})
                            .set("pads", std::vector<int64_t>{1, 0, 0, 0})
                            .run();
  EXPECT_EQ(result.shape(), (Shape{1, 3, 2, 2}));
  EXPECT_EQ(to_reals(result),
            (std::vector<double>{85, 122, 233, 196, 125, 162, 233, 236, 165, 202, 239, 236}));
}

TEST(MicrosoftRecurrent, DynamicQuantizeLstm) {
  const auto results = microsoft("DynamicQuantizeLSTM", 3)
                           .input(quarters({2, 1, 2}))
                           .input(bytes({1, 2, 8}))
                           .input(bytes({1, 2, 8}))
                           .input(quarters({1, 16}, 0.5))
                           .absent_input()
                           .absent_input()
                           .absent_input()
                           .absent_input()
                           .input(reals({1}, {1.0 / 64}))
                           .input(ints({1}, {120}, ElementType::u8))
                           .input(reals({1}, {1.0 / 128}))
                           .input(ints({1}, {130}, ElementType::u8))
                           .set("hidden_size", int64_t{2})
                           .run_all();
  EXPECT_EQ(results[0].shape(), (Shape{2, 1, 1, 2}));
  expect_rows_near(results[0], {-0.3077582, 0.3786776, -0.304419, 0.2919294});
  expect_rows_near(results[1], {-0.304419, 0.2919294});
  expect_rows_near(results[2], {-0.6669638, 0.4341562});
}

}  // namespace
}  // namespace axrun::ir::test
