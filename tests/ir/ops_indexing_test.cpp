#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

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

/// Whether the node's program writes at indices, rather than being a map.
bool scatters(const NodeUnderTest& node) {
  const Program program = define_node(node.node(), node.known());
  return std::any_of(program.stages.begin(), program.stages.end(),
                     [](const Stage& stage) { return stage.kind == StageKind::scatter; });
}

TEST(Scatter, KnownIndicesInABoxMakeAMap) {
  const auto scatter = [](const std::vector<int64_t>& indices, const std::string& reduction = "none") {
    return NodeUnderTest("ScatterElements", 18)
        .input(ints({6}, {1, 2, 3, 4, 5, 6}))
        .input(ints({static_cast<int64_t>(indices.size())}, indices))
        .input(ints({static_cast<int64_t>(indices.size())}, {10, 0, 30}))
        .set("reduction", reduction);
  };
  EXPECT_FALSE(scatters(scatter({1, 2, 3})));
  EXPECT_EQ(scatter({1, 2, 3}).run().to_ints(), (Ints{1, 10, 0, 30, 5, 6}));
  EXPECT_FALSE(scatters(scatter({1, -3, 5})));
  EXPECT_EQ(scatter({1, -3, 5}).run().to_ints(), (Ints{1, 10, 3, 0, 5, 30}));
  EXPECT_EQ(scatter({-6, 2, 4}).run().to_ints(), (Ints{10, 2, 0, 4, 30, 6}));
  EXPECT_EQ(scatter({0, 1, 2}, "add").run().to_ints(), (Ints{11, 2, 33, 4, 5, 6}));
  EXPECT_EQ(scatter({0, 1, 2}, "mul").run().to_ints(), (Ints{10, 0, 90, 4, 5, 6}));
  EXPECT_EQ(scatter({0, 1, 2}, "max").run().to_ints(), (Ints{10, 2, 30, 4, 5, 6}));
  EXPECT_EQ(scatter({0, 1, 2}, "min").run().to_ints(), (Ints{1, 0, 3, 4, 5, 6}));
  // Other places: repeated, backwards, unevenly apart; outside, they are an error still.
  for (const std::vector<int64_t>& indices : {Ints{2, 2, 2}, Ints{3, 2, 1}, Ints{0, 1, 3}, Ints{0, 0, 1}})
    EXPECT_TRUE(scatters(scatter(indices)));
  EXPECT_EQ(scatter({3, 2, 1}).run().to_ints(), (Ints{1, 30, 0, 10, 5, 6}));
  EXPECT_THROW(scatter({4, 5, 6}).run(), Error);
  EXPECT_THROW(scatter({-7, -6, -5}).run(), Error);
}

TEST(Scatter, KnownTuplesInABoxMakeAMap) {
  // Rows 1 and 2, columns 0 and 2 of [3, 3], the columns outermost in the updates.
  const NodeUnderTest turned = NodeUnderTest("ScatterND", 18)
                                   .input(ints({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}))
                                   .input(ints({2, 2, 2}, {1, 0, 2, 0, 1, -1, 2, 2}))
                                   .input(ints({2, 2}, {10, 20, 30, 40}));
  EXPECT_FALSE(scatters(turned));
  EXPECT_EQ(turned.run().to_ints(), (Ints{1, 2, 3, 10, 5, 30, 20, 8, 40}));
  // A diagonal is no box.
  const NodeUnderTest diagonal = NodeUnderTest("ScatterND", 18)
                                     .input(ints({2, 2}, {1, 2, 3, 4}))
                                     .input(ints({2, 2}, {0, 0, 1, 1}))
                                     .input(ints({2}, {8, 9}));
  EXPECT_TRUE(scatters(diagonal));
  EXPECT_EQ(diagonal.run().to_ints(), (Ints{8, 2, 3, 9}));
  // One row twice: the last one stays.
  const NodeUnderTest twice = NodeUnderTest("ScatterND", 18)
                                  .input(ints({2, 2}, {1, 2, 3, 4}))
                                  .input(ints({2, 1}, {1, 1}))
                                  .input(ints({2, 2}, {5, 6, 7, 8}));
  EXPECT_TRUE(scatters(twice));
  EXPECT_EQ(twice.run().to_ints(), (Ints{1, 2, 7, 8}));
}

TEST(TensorScatter, BeginsAtTheFrontWhereNothingElseIsSaid) {
  const NodeUnderTest update = NodeUnderTest("TensorScatter", 24)
                                   .input(ints({1, 3, 2}, {1, 2, 3, 4, 5, 6}))
                                   .input(ints({1, 2, 2}, {7, 8, 9, 10}));
  EXPECT_FALSE(scatters(update));
  EXPECT_EQ(update.run().to_ints(), (Ints{7, 8, 9, 10, 5, 6}));
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
