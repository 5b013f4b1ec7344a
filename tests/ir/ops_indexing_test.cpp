#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();
using Ints = std::vector<int64_t>;

TEST(Gather, NegativeIndicesCountFromTheEnd) {
  const Tensor x = ints({3, 2}, {0, 1, 10, 11, 20, 21});
  const auto gather = [&](const Tensor& indices, int64_t axis) {
    return NodeUnderTest("Gather", 13).input(x).input(indices).set("axis", axis);
  };
  const Tensor rows = gather(ints({1, 2}, {-1, 0}), 0).run();
  EXPECT_EQ(rows.shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(rows.to_ints(), (Ints{20, 21, 0, 1}));
  EXPECT_EQ(gather(ints({}, {1}, ElementType::i32), -1).run().to_ints(), (Ints{1, 11, 21}));
  EXPECT_THROW(gather(ints({1}, {3}), 0).run(), Error);
  EXPECT_THROW(gather(ints({1}, {-4}), 0).run(), Error);
  EXPECT_THROW(gather(ints({1}, {std::numeric_limits<int64_t>::min()}), 0).run(), Error);
  EXPECT_THROW(gather(reals({1}, {0}), 0).run(), Error);
}

TEST(Gather, MovesStrings) {
  const Tensor x = Tensor::from_strings({2}, {"no", "yes"});
  const Tensor picked = NodeUnderTest("Gather", 13).input(x).input(ints({2}, {1, 1})).run();
  EXPECT_EQ(picked.strings()[0] + picked.strings()[1], "yesyes");
}

TEST(GatherND, BatchDimensionsAreShared) {
  const Tensor x = ints({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor picked =
      NodeUnderTest("GatherND", 13).input(x).input(ints({2, 1}, {1, 0})).set("batch_dims", int64_t{1}).run();
  EXPECT_EQ(picked.shape(), (Shape{2, 2}));
  EXPECT_EQ(picked.to_ints(), (Ints{2, 3, 4, 5}));
  const Tensor single = NodeUnderTest("GatherND", 13).input(x).input(ints({1, 3}, {-1, 0, 1})).run();
  EXPECT_EQ(single.to_ints(), Ints{5});
}

TEST(Scatter, RepeatedIndicesKeepTheLastOrCombineAll) {
  const auto scatter = [](const std::string& reduction) {
    return NodeUnderTest("ScatterElements", 18)
        .input(ints({3}, {1, 2, 3}))
        .input(ints({3}, {0, -3, 2}))
        .input(ints({3}, {10, 20, 30}))
        .set("reduction", reduction)
        .run()
        .to_ints();
  };
  EXPECT_EQ(scatter("none"), (Ints{20, 2, 30}));
  EXPECT_EQ(scatter("add"), (Ints{31, 2, 33}));
  EXPECT_EQ(scatter("mul"), (Ints{200, 2, 90}));
  EXPECT_EQ(scatter("max"), (Ints{20, 2, 30}));
  EXPECT_EQ(scatter("min"), (Ints{1, 2, 3}));
  EXPECT_THROW(scatter("median"), Error);
}

TEST(Scatter, SlicesGoWhereTheTuplesSay) {
  const Tensor result = NodeUnderTest("ScatterND", 18)
                            .input(ints({2, 2}, {1, 2, 3, 4}))
                            .input(ints({1, 1}, {-1}))
                            .input(ints({1, 2}, {8, 9}))
                            .run();
  EXPECT_EQ(result.to_ints(), (Ints{1, 2, 8, 9}));
  NodeUnderTest outside("ScatterND", 18);
  outside.input(ints({2}, {1, 2})).input(ints({1, 1}, {2})).input(ints({1}, {8}));
  EXPECT_THROW(outside.run(), Error);
}

TEST(TensorScatter, WrapsAroundOnlyWhenCircular) {
  const auto update = [](const std::string& mode) {
    return NodeUnderTest("TensorScatter", 24)
        .input(ints({2, 3}, {0, 0, 0, 0, 0, 0}))
        .input(ints({2, 2}, {1, 2, 3, 4}))
        .input(ints({2}, {1, 2}))
        .set("axis", int64_t{-1})
        .set("mode", mode);
  };
  EXPECT_EQ(update("circular").run().to_ints(), (Ints{0, 1, 2, 4, 0, 3}));
  EXPECT_THROW(update("linear").run(), Error);
}

TEST(OneHot, IndicesOutsideTheDepthLightNothing) {
  const Tensor result = NodeUnderTest("OneHot", 11)
                            .input(ints({4}, {1, -1, 3, -4}))
                            .input(reals({}, {3}))
                            .input(ints({2}, {5, 7}, ElementType::i8))
                            .run();
  EXPECT_EQ(result.type(), ElementType::i8);
  EXPECT_EQ(result.to_ints(), (Ints{5, 7, 5, 5, 5, 7, 5, 5, 5, 5, 5, 5}));
}

TEST(TopK, TiesGoToTheFirstAndNaNIsLargest) {
  const Tensor x = reals({7}, {2, nan, 5, -inf, 5, inf, nan});
  const auto top = [&](int64_t k, int64_t largest) {
    return NodeUnderTest("TopK", 11, 2).input(x).input(ints({1}, {k})).set("largest", largest).run_all();
  };
  EXPECT_EQ(top(5, 1)[1].to_ints(), (Ints{1, 6, 5, 2, 4}));
  EXPECT_EQ(top(7, 0)[1].to_ints(), (Ints{3, 0, 2, 4, 5, 1, 6}));
  EXPECT_EQ(to_reals(top(3, 0)[0]), (std::vector<double>{-inf, 2, 5}));
  EXPECT_EQ(top(0, 1)[0].shape(), Shape{0});
  EXPECT_THROW(top(8, 1), Error);
  EXPECT_THROW(top(-1, 1), Error);
}

TEST(TopK, WorksAlongAnyAxis) {
  const Tensor x = ints({3, 2}, {1, 6, 3, 4, 5, 2});
  const auto results =
      NodeUnderTest("TopK", 11, 2).input(x).input(ints({1}, {2})).set("axis", int64_t{0}).run_all();
  EXPECT_EQ(results[0].to_ints(), (Ints{5, 6, 3, 4}));
  EXPECT_EQ(results[1].to_ints(), (Ints{2, 0, 1, 1}));
}

}  // namespace
}  // namespace axrun::ir::test
