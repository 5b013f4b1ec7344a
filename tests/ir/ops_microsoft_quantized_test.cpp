// com.microsoft operators that quantisers make. Expected values are ONNX Runtime 1.32's on the same inputs.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

constexpr ElementType u8 = ElementType::u8;
constexpr ElementType i8 = ElementType::i8;
constexpr ElementType i32 = ElementType::i32;

Tensor byte(int64_t value, ElementType type = u8) { return ints({}, {value}, type); }
Tensor row(const std::vector<double>& values) { return reals({static_cast<int64_t>(values.size())}, values); }

TEST(MicrosoftQuantized, GemmWithScalesPerColumn) {
  const Tensor y = microsoft("QGemm")
                       .input(bytes({2, 3}))
                       .input(number(0.02F))
                       .input(byte(120))
                       .input(bytes({4, 3}, i8, 53, 7))
                       .input(row({0.01F, 0.02F, 0.03F, 0.04F}))
                       .input(ints({4}, {0, 1, -2, 3}, i8))
                       .input(ints({4}, {100, -50, 25, 3}, i32))
                       .input(number(0.9F))
                       .input(byte(100))
                       .set("transB", int64_t{1})
                       .set_real("alpha", 1.5)
                       .run();
  EXPECT_EQ(y.type(), u8);
  EXPECT_EQ(y.to_ints(), (std::vector<int64_t>{97, 108, 86, 99, 104, 100, 99, 109}));
}

TEST(MicrosoftQuantized, GemmWithoutAScaleOfTheResultGivesFloats) {
  const auto gemm = [](const Shape& right) {
    return microsoft("QGemm")
        .input(bytes({3, 2}))
        .input(number(0.02F))
        .input(byte(120))
        .input(bytes(right, u8, 53, 7))
        .input(number(0.01F))
        .input(byte(9))
        .set("transA", int64_t{1});
  };
  expect_near(gemm({3, 2}).run(), {0.9536, -2.1562, 3.2624, -0.5652});
  EXPECT_THROW(gemm({2, 3}).run(), Error);
}

TEST(MicrosoftQuantized, SoftmaxOverOneAxisOrAllThatFollow) {
  const auto softmax = [](int64_t opset, int64_t zero) {
    return microsoft("QLinearSoftmax")
        .input(bytes({2, 3, 2}))
        .input(number(0.03F))
        .input(byte(7))
        .input(number(1.0 / 256))
        .input(byte(zero))
        .set("axis", int64_t{1})
        .set("opset", opset)
        .run()
        .to_ints();
  };
  EXPECT_EQ(softmax(13, 0), (std::vector<int64_t>{3, 3, 25, 25, 228, 228, 245, 3, 1, 25, 10, 228}));
  EXPECT_EQ(softmax(12, 3), (std::vector<int64_t>{4, 5, 9, 22, 60, 175, 221, 3, 4, 6, 12, 29}));
}

TEST(MicrosoftQuantized, WhereBringsBothSidesToOneScale) {
  const Tensor z = microsoft("QLinearWhere")
                       .input(ints({2, 1}, {1, 0}, ElementType::boolean))
                       .input(bytes({2, 3}))
                       .input(number(0.5))
                       .input(byte(100))
                       .input(bytes({3}, u8, 91, 3))
                       .input(number(0.25))
                       .input(byte(30))
                       .input(number(0.75))
                       .input(byte(60))
                       .run();
  EXPECT_EQ(z.to_ints(), (std::vector<int64_t>{1, 25, 50, 51, 81, 112}));
}

TEST(MicrosoftQuantized, AttentionWithPastMaskAndCausality) {
  const auto results = microsoft("QAttention", 2)
                           .input(bytes({1, 2, 3}))
                           .input(bytes({3, 6}, i8, 53, 7))
                           .input(quarters({6}))
                           .input(number(0.02F))
                           .input(number(0.01F))
                           .input(ints({1, 4}, {1, 1, 0, 1}, i32))
                           .input(byte(120))
                           .input(byte(3, i8))
                           .input(quarters({2, 1, 2, 2, 1}))
                           .set("num_heads", int64_t{2})
                           .set("unidirectional", int64_t{1})
                           .run_all();
  expect_near(results[0], {0.1694798, 0.9670609, 1.143205, -0.571406});
  EXPECT_EQ(results[1].shape(), (Shape{2, 1, 2, 4, 1}));
  expect_near(results[1], {-1.25, 0.5, -1.5344, -1.4456, -0.5, 1.25, 3.5068, 1.4422, 0.25, -0.75, 0.2172,
                           1.6824, 1.0, 0.0, -1.2804, -1.9686});
}

TEST(MicrosoftQuantized, AttentionWithScalesPerColumn) {
  const Tensor y = microsoft("QAttention")
                       .input(bytes({1, 2, 3}))
                       .input(bytes({3, 6}, u8, 53, 7))
                       .input(quarters({6}))
                       .input(number(0.02F))
                       .input(row({0.01F, 0.02F, 0.03F, 0.04F, 0.05F, 0.06F}))
                       .input(ints({1}, {2}, i32))
                       .input(byte(120))
                       .input(ints({6}, {1, 2, 3, 4, 5, 6}, u8))
                       .set("num_heads", int64_t{1})
                       .run();
  expect_near(y, {-27.386, -13.9068, 7.690001, 14.8644});
}

TEST(MicrosoftTables, GatherOfPackedNibblesCountsFromTheEnd) {
  const Tensor y = microsoft("GatherBlockQuantized")
                       .input(bytes({3, 16}))
                       .input(ints({2, 2}, {2, 0, -1, 1}))
                       .input(quarters({3, 2}))
                       .input(bytes({3, 1}, u8, 77, 5))
                       .set("block_size", int64_t{16})
                       .set("quantize_axis", int64_t{1})
                       .set("gather_axis", int64_t{0})
                       .set("bits", int64_t{4})
                       .run();
  EXPECT_EQ(y.shape(), (Shape{2, 2, 32}));
  const auto all = to_reals(y);
  // Row 2, row 0, row -1 and row 1: the first numbers of each half of a row.
  const auto at = [&](size_t k) { return std::vector<double>(all.begin() + k, all.begin() + k + 4); };
  EXPECT_EQ(at(0), (std::vector<double>{-1.0, -1.25, -3.75, -0.5}));
  EXPECT_EQ(at(16), (std::vector<double>{4.5, -3.0, 0.75, -4.5}));
  EXPECT_EQ(at(32), (std::vector<double>{-7.5, 6.25, 6.25, 2.5}));
  EXPECT_EQ(at(48), (std::vector<double>{1.5, 1.5, 4.0, 2.5}));
  EXPECT_EQ(at(64), at(0));
  EXPECT_EQ(at(96), (std::vector<double>{-4.5, -1.5, 1.0, -3.0}));
  EXPECT_EQ(at(112), (std::vector<double>{-2.5, 3.75, 3.75, 6.25}));
}

TEST(MicrosoftTables, GatherGivesZerosForRowsThatAreNotThere) {
  const auto gather = [](int64_t index) {
    return to_reals(microsoft("GatherBlockQuantized")
                        .input(bytes({3, 16}))
                        .input(ints({1}, {index}, i32))
                        .input(quarters({3, 1}))
                        .set("block_size", int64_t{16})
                        .set("bits", int64_t{8})
                        .run());
  };
  const auto second = gather(1);
  EXPECT_EQ(std::vector<double>(second.begin(), second.begin() + 6),
            (std::vector<double>{-18.5, 0.0, 18.5, 37.0, 55.5, -54.0}));
  EXPECT_EQ(gather(3), std::vector<double>(16, 0));
  EXPECT_EQ(gather(-4), std::vector<double>(16, 0));
}

TEST(MicrosoftTables, ProductsWithBothKindsOfBnb4) {
  const auto product = [](int64_t kind) {
    return microsoft("MatMulBnb4")
        .input(quarters({1, 8}))
        .input(bytes({16}))
        .input(quarters({2}, 0.5))
        .set("K", int64_t{8})
        .set("N", int64_t{4})
        .set("block_size", int64_t{16})
        .set("quant_type", kind)
        .run();
  };
  expect_near(product(0), {0.625, -0.2669271, -0.3072917, 0.3014323});
  expect_near(product(1), {-0.2867519, 0.7606424, 0.07804994, -0.1020749});
}

TEST(MicrosoftAliases, SmallOperators) {
  const auto distance = [](const std::string& metric) {
    return microsoft("CDist")
        .input(quarters({2, 3}))
        .input(quarters({3, 3}, 0.5))
        .set("metric", metric)
        .run();
  };
  expect_near(distance("euclidean"), {0.7180703, 1.916214, 1.820027, 1.940522, 0.73951, 0.8291562});
  expect_near(distance("sqeuclidean"), {0.515625, 3.671875, 3.3125, 3.765625, 0.546875, 0.6875});
  expect_near(microsoft("ScaledSiLU").input(quarters({4})).set_real("alpha", 1.5).run(),
              {-0.2493079, 0.509384, -0.240616, 1.625692});
  const Tensor expanded = microsoft("ExpandDims").input(quarters({4})).input(ints({}, {-1}, i32)).run();
  EXPECT_EQ(expanded.shape(), (Shape{4, 1}));
  expect_near(microsoft("Range").input(number(1)).input(number(2)).input(number(0.3F)).run(),
              {1, 1.3, 1.6, 1.9});
  expect_near(microsoft("Pad").input(quarters({2})).input(ints({2}, {1, 1})).input(number(9)).run(),
              {9, -1.25, 0.5, 9});
  expect_near(microsoft("Trilu").input(quarters({2, 2})).run(), {-1.25, 0.5, 0, 1.25});
}

}  // namespace
}  // namespace axrun::ir::test
