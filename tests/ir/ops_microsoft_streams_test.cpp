// EngramGate, the mixing of hyper-connections, and the router of experts by groups. Expected values are
// derived by hand from the schemas' texts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/error.h"
#include "tests/ir/microsoft_nodes.h"

namespace axrun::ir::test {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

NodeUnderTest engram_gate(const Reals& query, bool normed) {
  NodeUnderTest node = microsoft("EngramGate", normed ? 2 : 1);
  node.input(reals({1, 1, 1, 2}, {3, 4})).input(reals({1, 1, 1, 2}, query)).input(reals({1, 1, 2}, {1, -2}));
  node.input(reals({1, 2}, {1, 1})).input(reals({1, 2}, {1, 2})).set_real("epsilon", 0);
  if (normed) node.input(reals({1, 2}, {3, 5}));
  return node;
}

TEST(EngramGate, OpensAsFarAsKeyAndQueryAgree) {
  // The mean of squares of (3, 4) is 12.5: the product is (9 + 2 * 16) / 12.5 / sqrt(2).
  const double gate = logistic(std::sqrt(41 / 12.5 / std::sqrt(2.0)));
  const auto results = engram_gate({3, 4}, true).run_all();
  expect_near(results[0], {gate, -2 * gate});
  expect_near(results[1], {3 / std::sqrt(2.5), -10 / std::sqrt(2.5)});
  const double closed = logistic(-std::sqrt(41 / 12.5 / std::sqrt(2.0)));
  expect_near(engram_gate({-3, -4}, false).run(), {closed, -2 * closed});
  // Nothing in common: a half; next to nothing: no less than a thousandth from it.
  expect_near(engram_gate({8, -3}, false).run(), {0.5, -1});
  const double little = logistic(1e-3);
  expect_near(engram_gate({8, std::nextafter(-3.0F, 0.0F)}, false).run(), {little, -2 * little});
}

TEST(EngramGate, RefusesWhatDoesNotFit) {
  EXPECT_THROW(engram_gate({3, 4}, false).input(reals({1, 3}, {1, 1, 1})).run(), Error);
  NodeUnderTest node = microsoft("EngramGate", 2);
  node.input(reals({1, 1, 1, 2}, {3, 4})).input(reals({1, 1, 1, 2}, {3, 4})).input(reals({1, 1, 2}, {1, 2}));
  EXPECT_THROW(node.input(reals({1, 2}, {1, 1})).input(reals({1, 2}, {1, 1})).run(), Error);
}

TEST(HyperConnection, StreamsAreReducedThroughTheirGates) {
  const auto reduced = [](const Shape& shape, const Shape& gate_shape, const Reals& gate, int64_t branches) {
    return microsoft("HyperConnectionPreMix")
        .input(reals(shape, {1, 2, 3, 4, 5, 6}))
        .input(reals(gate_shape, gate))
        .set("num_branches", branches)
        .set_real("reduction_scale", 0.5)
        .run();
  };
  for (const Shape& gate : {Shape{1, 2}, Shape{1, 2, 1}}) {
    const Tensor result = reduced({1, 2, 3}, gate, {10, 100}, 0);
    EXPECT_EQ(result.shape(), (Shape{1, 3}));
    expect_near(result, {205, 260, 315});
    expect_near(reduced({1, 6}, gate, {10, 100}, 2), {205, 260, 315});
  }
  const Reals features = {1, 10, 100, 2, 20, 200};
  expect_near(reduced({2, 3}, {2, 3}, features, 0), {4.5, 60, 750});
  expect_near(reduced({6}, {6}, features, 2), {4.5, 60, 750});
  EXPECT_THROW(reduced({2, 3}, {6}, features, 0), Error);
  EXPECT_THROW(reduced({6}, {6}, features, 4), Error);
  EXPECT_THROW(reduced({6}, {6}, features, -2), Error);
  EXPECT_THROW(reduced({6}, {6}, features, 0), Error);
}

TEST(HyperConnection, StreamsAreMixedAndTheBlockIsAdded) {
  const auto mixed = [](const Shape& shape, int64_t branches, bool mixes) {
    NodeUnderTest node = microsoft("HyperConnectionPostMix");
    node.input(reals(shape, {1, 2, 3, 4})).input(reals({2}, {10, 20})).input(reals({2}, {1, -1}));
    if (mixes) node.input(reals({2, 2}, {1, 2, 0, 3}));  // [from, to]
    return node.set("num_branches", branches).run();
  };
  expect_near(mixed({2, 2}, 0, false), {11, 22, -7, -16});
  expect_near(mixed({2, 2}, 0, true), {11, 22, 2 + 9 - 10, 4 + 12 - 20});
  const Tensor flat = mixed({4}, 2, true);
  EXPECT_EQ(flat.shape(), (Shape{4}));
  expect_near(flat, {11, 22, 1, -4});
}

TEST(HyperConnection, GatesMayHaveAnotherType) {
  const Tensor result = microsoft("HyperConnectionPreMix")
                            .input(reals({2, 1}, {1, 3}, ElementType::f16))
                            .input(reals({2}, {0.5, 0.25}))
                            .run();
  EXPECT_EQ(result.type(), ElementType::f16);
  expect_near(result, {1.25});
}

NodeUnderTest router(int64_t groups, int64_t open, int64_t judged, int64_t chosen) {
  NodeUnderTest node = microsoft("MoEGroupRouter");
  node.input(reals({1, 6}, {3, -3, 1, 1, 2, -2.5})).input(reals({6}, {0, 0, 0, 0.01, 0, 0}));
  node.set("n_group", groups).set("topk_group", open).set("group_topk", judged).set("top_k", chosen);
  return node.set_real("router_sentinel", -9);
}

TEST(GroupRouter, ExpertsComeFromTheBestGroups) {
  const auto worth = [](double x) { return std::log(logistic(x)); };
  // The best experts are 0, 4, 3 (by its bias), 2.
  expect_near(router(1, 1, 2, 3).run(), {worth(3), -9, -9, worth(1), worth(2), -9});
  // Of pairs the middle one is the best: 0.953 + 0.047 against 0.731 + 0.741; by the best of each it is the
  // first.
  expect_near(router(3, 1, 2, 1).run(), {-9, -9, -9, worth(1), -9, -9});
  expect_near(router(3, 1, 1, 2).run(), {worth(3), worth(-3), -9, -9, -9, -9});
  expect_near(router(3, 2, 7, 3).run(), {worth(3), -9, worth(1), worth(1), -9, -9});
  EXPECT_THROW(router(4, 1, 2, 1).run(), Error);  // 6 experts have no 4 groups
  EXPECT_THROW(router(3, 4, 2, 1).run(), Error);
  EXPECT_THROW(router(3, 1, 2, 3).run(), Error);
  EXPECT_THROW(router(3, 1, 0, 1).run(), Error);
  EXPECT_THROW(router(3, 1, 2, 0).run(), Error);
}

TEST(GroupRouter, OfEqualExpertsTheFirstIsTaken) {
  const Tensor result = microsoft("MoEGroupRouter")
                            .input(reals({2, 1, 3}, {1, 1, 1, 0, 2, 2}))
                            .input(reals({3}, {0, 0, 0}))
                            .set("top_k", int64_t{1})
                            .run();
  EXPECT_EQ(result.shape(), (Shape{2, 3}));
  EXPECT_EQ(to_reals(result)[1], -10000);
  EXPECT_NEAR(to_reals(result)[0], std::log(logistic(1)), 1e-6);
  EXPECT_NEAR(to_reals(result)[4], std::log(logistic(2)), 1e-6);
}

TEST(GroupRouter, WhatIsNotANumberComesLast) {
  const auto route = [&](int64_t groups, int64_t chosen) {
    return microsoft("MoEGroupRouter")
        .input(reals({1, 4}, {nan, 2, -1, 0}))
        .input(reals({4}, {0, 0, 0, 0}))
        .set("n_group", groups)
        .set("top_k", chosen)
        .run();
  };
  EXPECT_EQ(route(1, 1).get_real(0), -10000);
  EXPECT_EQ(route(1, 3).get_real(0), -10000);
  EXPECT_TRUE(std::isnan(route(1, 4).get_real(0)));
  EXPECT_EQ(route(2, 2).get_real(1), -10000);  // the other group, though worth little
}

TEST(GroupRouter, RowsMayBeUnknown) {
  const Dim batch = Dim::symbol("batch"), length = Dim::symbol("length");
  EXPECT_EQ(router(3, 1, 2, 1).output_dims(0, {batch, length, Dim(6)}), (Dims{batch * length, Dim(6)}));
}

/// Outputs 1 and 2 where there is no output 0.
std::vector<Tensor> all_scores(const std::vector<Tensor>& inputs) {
  NodeUnderTest under_test = microsoft("MoEGroupRouter", 3);
  for (const Tensor& input : inputs) under_test.input(input);
  under_test.set("top_k", int64_t{1});
  EXPECT_THROW(under_test.run_all(), Error);  // beside router_probs
  Node node = under_test.node();
  node.outputs[0] = absent;
  std::vector<Tensor> results = evaluate(define_node(node, under_test.known()), inputs);
  results.erase(results.begin());
  return results;
}

TEST(GroupRouter, AllScores) {
  const auto results = all_scores({reals({1, 2}, {0, 2}), reals({2}, {1, -1})});
  expect_near(results[0], {1.5, logistic(2) - 1});
  expect_near(results[1], {0.5, logistic(2)});
  const Tensor ones = reals({1, 256}, Reals(256, 1.0 / 128));
  Reals weights(256, 0.5);
  weights.resize(512, -1);
  expect_near(all_scores({ones, reals({2}, {1, -1}), reals({2, 256}, weights)})[1],
              {logistic(1), logistic(-2)});
}

}  // namespace
}  // namespace axrun::ir::test
