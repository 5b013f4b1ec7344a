// Expected values of com.microsoft operators are ONNX Runtime 1.31's on the same inputs.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

Tensor byte(int64_t value) { return ints({}, {value}, ElementType::u8); }

TEST(Microsoft, AttentionWithPastMaskAndCausality) {
  const auto results = microsoft("Attention", 2)
                           .input(quarters({1, 2, 3}))
                           .input(quarters({3, 6}))
                           .input(quarters({6}))
                           .input(ints({1, 4}, {1, 1, 0, 1}, ElementType::i32))
                           .input(quarters({2, 1, 2, 2, 1}))
                           .set("num_heads", int64_t{2})
                           .set("unidirectional", int64_t{1})
                           .run_all();
  EXPECT_EQ(results[0].shape(), (Shape{1, 2, 2}));
  expect_near(results[0], {-0.4779755, 0.4455296, 1.027736, -2.487081});
  EXPECT_EQ(results[1].shape(), (Shape{2, 1, 2, 4, 1}));
  expect_near(results[1], {-1.25, 0.5, -1.0, -2.3125, -0.5, 1.25, -0.0625, 2.8125, 0.25, -0.75, 0.1875,
                           1.0625, 1.0, 0.0, -0.9375, -2.75});
}

TEST(Microsoft, AttentionRefusesShapesThatDoNotFit) {
  const auto attention = [](const Shape& weights, int64_t heads, const Tensor& mask) {
    return microsoft("Attention")
        .input(quarters({1, 2, 3}))
        .input(quarters(weights))
        .input(quarters({weights[1]}))
        .input(mask)
        .set("num_heads", heads);
  };
  const Tensor mask = ints({1, 2}, {1, 1}, ElementType::i32);
  EXPECT_NO_THROW(attention({3, 6}, 2, mask).run());
  EXPECT_THROW(attention({3, 6}, 4, mask).run(), Error);
  EXPECT_THROW(attention({3, 6}, 0, mask).run(), Error);
  EXPECT_THROW(attention({3, 7}, 2, mask).run(), Error);
  EXPECT_THROW(attention({4, 6}, 2, mask).run(), Error);
  EXPECT_THROW(attention({3, 6}, 2, ints({1, 3}, {1, 1, 1}, ElementType::i32)).run(), Error);
}

TEST(Microsoft, AttentionKeepsSymbolicSizes) {
  const Dim batch = Dim::symbol("batch");
  const Dim length = Dim::symbol("length");
  const Dims dims = microsoft("Attention")
                        .input(quarters({1, 2, 3}))
                        .input(quarters({3, 6}))
                        .input(quarters({6}))
                        .set("num_heads", int64_t{2})
                        .output_dims(0, {batch, length, Dim(3)});
  EXPECT_EQ(dims, (Dims{batch, length, Dim(2)}));
}

TEST(Microsoft, MultiHeadAttentionAddsBiases) {
  const Tensor y = microsoft("MultiHeadAttention")
                       .input(quarters({1, 2, 4}))
                       .input(quarters({1, 3, 4}, 0.5))
                       .input(quarters({1, 3, 4}))
                       .input(quarters({12}))
                       .absent_input()
                       .input(quarters({1, 1, 2, 3}))
                       .set("num_heads", int64_t{2})
                       .run();
  expect_near(y, {-1.745085, 1.050743, -0.006458502, -0.8283846, -1.961708, 1.050507, -0.428163, -0.3493688});
}

TEST(Microsoft, GroupQueryAttentionRotatesAndLooksThroughItsWindow) {
  const auto results = microsoft("GroupQueryAttention", 3)
                           .input(quarters({1, 2, 32}))
                           .input(quarters({1, 2, 16}))
                           .input(quarters({1, 2, 16}))
                           .input(quarters({1, 1, 2, 16}))
                           .input(quarters({1, 1, 2, 16}, 0.5))
                           .input(ints({1}, {3}, ElementType::i32))
                           .input(ints({1}, {4}, ElementType::i32))
                           .input(quarters({5, 8}))
                           .input(quarters({5, 8}))
                           .set("num_heads", int64_t{2})
                           .set("kv_num_heads", int64_t{1})
                           .set("do_rotary", int64_t{1})
                           .set("local_window_size", int64_t{2})
                           .set_real("softcap", 2)
                           .run_all();
  const auto every = [](const Tensor& x, int64_t row, int64_t step) {
    std::vector<double> values;
    for (int64_t k = 0; k < x.size(); ++k) {
      if (k % row % step == 0) values.push_back(x.get_real(k));
    }
    return reals({static_cast<int64_t>(values.size())}, values);
  };
  expect_near(every(results[0], 32, 9),
              {-0.9683699, 0.7097672, -0.1984235, -0.7222411, -0.9135568, 1.086443, -0.3143679, -1.064368});
  expect_near(every(results[1], 16, 5), {-1.25, -0.75, -0.25, 0.25, -0.75, -0.25, 0.25, 0.75, 0.1875, 0.0625,
                                         0.0, 0.125, 0.125, 0.0, 0.0625, 0.9375});
}

/// The heads use two layouts: of two rows of blocks, the second one leaves out the first block, or nothing.
/// The values are those of ONNX Runtime 1.32.
TEST(Microsoft, SparseAttentionSeesTheBlocksOfItsLayout) {
  const auto sparse = [](const std::vector<int64_t>& lengths) {
    return microsoft("SparseAttention", 3)
        .input(quarters({1, 2, 16}))
        .input(quarters({1, 2, 8}))
        .input(quarters({1, 2, 8}))
        .input(quarters({1, 1, 32, 8}))
        .input(quarters({1, 1, 32, 8}, 0.5))
        .input(ints({2, 3}, {0, 1, 2, 0, 1, 3}, ElementType::i32))
        .input(ints({2, 3}, {0, 1, -1, 0, 0, 1}, ElementType::i32))
        .input(ints({1}, lengths, ElementType::i32))
        .input(ints({1}, lengths, ElementType::i32))
        .set("num_heads", int64_t{2})
        .set("kv_num_heads", int64_t{1})
        .set("sparse_block_size", int64_t{16})
        .run_all();
  };
  const auto results = sparse({20});
  expect_near(
      results[0],
      {-1.090651,  0.3864667, -0.3861317,  1.090986,   0.1516268, -0.6209716,  0.8561465, -0.001674701,
       -0.3931527, 0.279763,  -0.08156398, -0.1910505, 0.2210418, -0.1933731,  0.2282373, 0.1328815,
       -0.7116773, 0.3110412, -0.08289087, -0.377136,  0.1014457, -0.2924863,  0.7302321, 0.1762121,
       -0.3211601, 0.3313794, 0.03447119,  -0.3374205, 0.3336563, -0.08539215, -0.205095, 0.2561293});
  EXPECT_EQ(results[1].get_real(18 * 8), quarters({16}).get_real(0));
  EXPECT_EQ(results[1].get_real(20 * 8), quarters({256}).get_real(160));
  EXPECT_THROW(sparse({33}), Error);
}

TEST(Microsoft, SkipLayerNormalizationBroadcastsAndAnswersTheSum) {
  const auto results = microsoft("SkipLayerNormalization", 4)
                           .input(quarters({1, 2, 3}))
                           .input(quarters({2, 3}, 2))
                           .input(quarters({3}))
                           .absent_input()
                           .input(quarters({3}))
                           .set_real("epsilon", 0.01F)
                           .run_all();
  expect_near(results[0], {1.452213, 0.6389735, 0.05808851, -1.20832, 0.204485, 0.6878132});
  expect_near(results[3], {-5.0, 2.0, -2.0, 2.5, 1.25, -2.75});
}

TEST(Microsoft, EmbedLayerNormalizationCountsTheMask) {
  const auto ids = [](int64_t a, int64_t b) { return ints({1, 2}, {a, b}, ElementType::i32); };
  const auto results = microsoft("EmbedLayerNormalization", 3)
                           .input(ids(1, 0))
                           .input(ids(0, 1))
                           .input(quarters({2, 3}))
                           .input(quarters({2, 3}, 2))
                           .input(quarters({2, 3}, 3))
                           .input(quarters({3}))
                           .input(quarters({3}))
                           .input(ids(1, 0))
                           .set_real("epsilon", 0.01F)
                           .run_all();
  expect_near(results[0], {-0.0578115, 1.190214, -0.286661, -2.608875, 0.619581, 0.1631312});
  EXPECT_EQ(results[1].to_ints(), (std::vector<int64_t>{1}));
  expect_near(results[2], {-5.0, 2.75, -3.25, 5.0, 1.75, -4.25});
}

TEST(Microsoft, Activations) {
  const Tensor x = quarters({2, 3});
  const Tensor bias = quarters({3});
  expect_near(microsoft("FastGelu").input(x).input(bias).run(),
              {-0.0150843, 0.841192, -0.158808, 0.0, 0.5799606, -0.1322858});
  expect_near(microsoft("BiasGelu").input(x).input(bias).run(),
              {-0.0155241, 0.8413447, -0.1586553, 0.0, 0.5800295, -0.1320622});
  expect_near(microsoft("QuickGelu").input(x).run(),
              {-0.1330657, 0.3503884, -0.1496116, 1.116934, 0.1511997, -0.16361});
  NodeUnderTest fused = microsoft("FusedGemm");
  fused.input(x).input(quarters({3, 2})).input(quarters({2})).set("activation", "LeakyRelu");
  expect_near(fused.set_real("activation_alpha", 0.5).set_real("alpha", 2).run(), {1.125, 1.25, -2.5, 3.5});
  EXPECT_THROW(fused.set("activation", "Other").run(), Error);
}

TEST(Microsoft, QuantisedOperatorsRoundAsTheirKernelsDo) {
  const auto pair = [](const std::string& op, double result_scale) {
    return microsoft(op)
        .input(bytes({2, 3}))
        .input(number(0.5))
        .input(byte(100))
        .input(bytes({3}))
        .input(number(0.25))
        .input(byte(30))
        .input(number(result_scale))
        .input(byte(77))
        .run()
        .to_ints();
  };
  EXPECT_EQ(pair("QLinearAdd", 1), (std::vector<int64_t>{28, 56, 83, 83, 111, 139}));
  EXPECT_EQ(pair("QLinearMul", 16), (std::vector<int64_t>{90, 70, 71, 74, 85, 118}));
  const auto function = [](NodeUnderTest node, double scale, double result_scale, int64_t result_zero) {
    return node.input(bytes({6}))
        .input(number(scale))
        .input(byte(100))
        .input(number(result_scale))
        .input(byte(result_zero))
        .run()
        .to_ints();
  };
  EXPECT_EQ(function(microsoft("QLinearLeakyRelu").set_real("alpha", 0.3F), 0.5, 0.25, 60),
            (std::vector<int64_t>{7, 29, 51, 104, 178, 252}));
  EXPECT_EQ(function(microsoft("QLinearSigmoid"), 0.05F, 1.0 / 256, 3),
            (std::vector<int64_t>{6, 21, 85, 195, 246, 255}));
}

TEST(Microsoft, QuantisedMatrixProducts) {
  const Tensor packed = microsoft("MatMulNBits")
                            .input(quarters({1, 16}))
                            .input(bytes({2, 1, 8}))
                            .input(reals({2}, {0.5, 0.25}))
                            .input(ints({2}, {3, 5}, ElementType::u8))
                            .set("K", int64_t{16})
                            .set("N", int64_t{2})
                            .set("bits", int64_t{4})
                            .set("block_size", int64_t{16})
                            .run();
  expect_near(packed, {-6.25, -2.875});
  const Tensor dynamic = microsoft("DynamicQuantizeMatMul")
                             .input(quarters({2, 3}))
                             .input(bytes({3, 2}))
                             .input(reals({2}, {0.5, 0.25}))
                             .input(ints({2}, {100, 30}, ElementType::u8))
                             .input(quarters({2}))
                             .run();
  expect_near(dynamic, {35.65686, -14.35294, -80.54902, -18.95588});
}

TEST(Microsoft, FusedMatMulMovesTheFirstDimension) {
  // A is (rows, batch, depth): the batch moves to the front. B is (batch, columns, depth).
  const Tensor a = quarters({3, 2, 2});
  const Tensor c = quarters({2, 3, 2});
  const Tensor y = microsoft("FusedMatMul")
                       .input(a)
                       .input(c)
                       .set("transBatchA", int64_t{1})
                       .set("transB", int64_t{1})
                       .set_real("alpha", 0.5)
                       .run();
  ASSERT_EQ(y.shape(), (Shape{2, 3, 3}));
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 3; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < 2; ++k)
          sum += a.get_real((i * 2 + n) * 2 + k) * c.get_real((n * 3 + j) * 2 + k);
        EXPECT_NEAR(y.get_real((n * 3 + i) * 3 + j), 0.5 * sum, 1e-6);
      }
    }
  }
}

TEST(Legacy, RemovedOperators) {
  const Tensor image = quarters({1, 2, 3, 3});
  const Tensor scaled =
      NodeUnderTest("ImageScaler", 7).input(image).set_real("scale", 2).set_reals("bias", {1, -1}).run();
  EXPECT_EQ(scaled.get_real(0), -1.5);
  EXPECT_EQ(scaled.get_real(9), 2 * image.get_real(9) - 1);
  const Tensor cropped =
      NodeUnderTest("Crop", 7).input(image).set("border", std::vector<int64_t>{1, 0, 0, 2}).run();
  EXPECT_EQ(cropped.shape(), (Shape{1, 2, 1, 2}));
  EXPECT_EQ(to_reals(cropped), (std::vector<double>{image.get_real(1), image.get_real(2), image.get_real(10),
                                                    image.get_real(11)}));
  EXPECT_THROW(NodeUnderTest("Crop", 7).input(image).set("border", std::vector<int64_t>{2, 0, 2, 0}).run(),
               Error);
  const Tensor affine =
      NodeUnderTest("Affine", 7).input(reals({2}, {1, -1})).set_real("alpha", 3).set_real("beta", 1).run();
  EXPECT_EQ(to_reals(affine), (std::vector<double>{4, -2}));
  const Tensor filled = NodeUnderTest("GivenTensorFill", 1)
                            .set("shape", std::vector<int64_t>{2, 1})
                            .set_reals("values", {3, 4})
                            .run();
  EXPECT_EQ(filled.shape(), (Shape{2, 1}));
}

}  // namespace
}  // namespace axrun::ir::test
