#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/error.h"
#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

NodeUnderTest learned(const std::string& op, int version = 1, int outputs = 1) {
  return NodeUnderTest(op, version, outputs).in_domain("ai.onnx.ml");
}

TEST(MachineLearning, ImputerReplacesPerFeature) {
  const Tensor x = reals({2, 2}, {nan, 1, 2, nan});
  const Tensor y = learned("Imputer")
                       .input(x)
                       .set_reals("imputed_value_floats", {7, 8})
                       .set_real("replaced_value_float", nan)
                       .run();
  EXPECT_EQ(to_reals(y), (std::vector<double>{7, 1, 2, 8}));
  const Tensor whole = learned("Imputer")
                           .input(ints({3}, {0, 5, 0}))
                           .set("imputed_value_int64s", std::vector<int64_t>{9})
                           .run();
  EXPECT_EQ(whole.to_ints(), (std::vector<int64_t>{9, 5, 9}));
  EXPECT_THROW(learned("Imputer").input(x).set_reals("imputed_value_floats", {1, 2, 3}).run(), Error);
}

TEST(MachineLearning, ScalerSubtractsThenScalesLongLists) {
  const int64_t features = 20;  // more than fit into selections
  std::vector<double> offset;
  std::vector<double> scale;
  std::vector<double> want;
  for (int64_t k = 0; k < features; ++k) {
    offset.push_back(static_cast<double>(k));
    scale.push_back(static_cast<double>(k % 3));
    want.push_back(static_cast<double>((100 - k) * (k % 3)));
  }
  const Tensor y = learned("Scaler")
                       .input(reals({1, features}, std::vector<double>(20, 100)))
                       .set_reals("offset", offset)
                       .set_reals("scale", scale)
                       .run();
  EXPECT_EQ(to_reals(y), want);
}

TEST(MachineLearning, FeatureVectorizerPadsAndCuts) {
  const Tensor y = learned("FeatureVectorizer")
                       .input(ints({2, 2}, {1, 2, 3, 4}))
                       .input(ints({2, 1}, {5, 6}))
                       .set("inputdimensions", std::vector<int64_t>{1, 2})
                       .run();
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_EQ(to_reals(y), (std::vector<double>{1, 5, 0, 3, 6, 0}));
}

TEST(MachineLearning, ArrayFeatureExtractorTakesStringsAndRefusesBadPositions) {
  const Tensor names = words({3}, {"a", "b", "c"});
  const Tensor y = learned("ArrayFeatureExtractor").input(names).input(ints({2, 1}, {2, 0})).run();
  EXPECT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_EQ(to_words(y), (std::vector<std::string>{"c", "a"}));
  EXPECT_THROW(learned("ArrayFeatureExtractor").input(names).input(ints({1}, {3})).run(), Error);
}

TEST(MachineLearning, NormalizerLeavesZerosAlone) {
  const Tensor x = reals({2, 2}, {3, -4, 0, 0});
  EXPECT_EQ(to_reals(learned("Normalizer").input(x).set("norm", "L2").run()),
            (std::vector<double>{0.6F, -0.8F, 0, 0}));
  EXPECT_EQ(to_reals(learned("Normalizer").input(x).set("norm", "MAX").run()),
            (std::vector<double>{1, -4.0F / 3, 0, 0}));
}

TEST(MachineLearning, LabelEncoderMapsBetweenNumbersAndStrings) {
  const Tensor numbers = learned("LabelEncoder", 4)
                             .input(words({3}, {"x", "z", "y"}))
                             .set_strings("keys_strings", {"x", "y", "x"})
                             .set("values_int64s", std::vector<int64_t>{1, 2, 3})
                             .run();
  EXPECT_EQ(numbers.to_ints(), (std::vector<int64_t>{3, -1, 2}));  // the last of equal keys holds
  const Tensor strings = learned("LabelEncoder", 4)
                             .input(reals({3}, {nan, 0, 1}))
                             .set_reals("keys_floats", {1, nan})
                             .set_strings("values_strings", {"one", "none"})
                             .set("default_string", "?")
                             .run();
  EXPECT_EQ(to_words(strings), (std::vector<std::string>{"none", "?", "one"}));
}

TEST(MachineLearning, OneHotEncoderRefusesUnknownCategoriesWhenTold) {
  NodeUnderTest node = learned("OneHotEncoder");
  node.input(ints({2}, {5, 3})).set("cats_int64s", std::vector<int64_t>{3, 4});
  EXPECT_EQ(to_reals(node.run()), (std::vector<double>{0, 0, 1, 0}));
  node.set("zeros", int64_t{0});
  EXPECT_THROW(node.run(), Error);
}

TEST(MachineLearning, LinearClassifierDecidesBeforeTheTransform) {
  const auto results = learned("LinearClassifier", 1, 2)
                           .input(reals({2, 2}, {1, 0, 0, 1}))
                           .set_reals("coefficients", {1, -1, -1, 1})
                           .set_reals("intercepts", {0, 0})
                           .set_strings("classlabels_strings", {"first", "second"})
                           .set("post_transform", "LOGISTIC")
                           .run_all();
  EXPECT_EQ(to_words(results[0]), (std::vector<std::string>{"first", "second"}));
  expect_near(results[1], {0.7310586, 0.2689414, 0.2689414, 0.7310586});
}

TEST(MachineLearning, SupportVectorsCoupleProbabilitiesOfPairs) {
  const auto results = learned("SVMClassifier", 1, 2)
                           .input(reals({2, 2}, {-1.25, 0.5, -0.5, 1.25}))
                           .set("kernel_type", "RBF")
                           .set_reals("kernel_params", {0.5, 0, 0})
                           .set_reals("support_vectors", {1, 0, 0, 1, -1, -1})
                           .set_reals("coefficients", {1, 0.5, -0.5, 0.25, -1, 0.75})
                           .set_reals("rho", {0.1, -0.2, 0.3})
                           .set("vectors_per_class", std::vector<int64_t>{1, 1, 1})
                           .set("classlabels_ints", std::vector<int64_t>{1, 2, 3})
                           .set_reals("prob_a", {-1, -2, -0.5})
                           .set_reals("prob_b", {0.1, 0, -0.1})
                           .run_all();
  EXPECT_EQ(results[0].shape(), (Shape{2}));
  double sum = 0;
  for (int64_t k = 0; k < 3; ++k) sum += results[1].get_real(k);
  EXPECT_NEAR(sum, 1, 1e-6);
}

/// Two trees on two features; the second one tests feature 1 and sends NaN to its true branch.
NodeUnderTest small_forest() {
  NodeUnderTest node = learned("TreeEnsembleClassifier", 1, 2);
  node.input(reals({3, 2}, {0, 0, 1, -2, nan, nan}))
      .set("nodes_treeids", std::vector<int64_t>{0, 0, 0, 1, 1, 1})
      .set("nodes_nodeids", std::vector<int64_t>{0, 1, 2, 0, 1, 2})
      .set("nodes_featureids", std::vector<int64_t>{0, 0, 0, 1, 0, 0})
      .set_reals("nodes_values", {0.5, 0, 0, -1, 0, 0})
      .set_strings("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"})
      .set("nodes_truenodeids", std::vector<int64_t>{1, 0, 0, 1, 0, 0})
      .set("nodes_falsenodeids", std::vector<int64_t>{2, 0, 0, 2, 0, 0})
      .set("nodes_missing_value_tracks_true", std::vector<int64_t>{0, 0, 0, 1, 0, 0})
      .set("class_treeids", std::vector<int64_t>{0, 0, 1, 1})
      .set("class_nodeids", std::vector<int64_t>{1, 2, 1, 2})
      .set("class_ids", std::vector<int64_t>{0, 1, 2, 0})
      .set_reals("class_weights", {0.25, 0.5, 1, 2})
      .set("classlabels_int64s", std::vector<int64_t>{10, 20, 30});
  return node;
}

TEST(MachineLearning, TreesAddVotesAndFollowMissingValues) {
  const auto plain = small_forest().run_all();
  EXPECT_EQ(plain[0].to_ints(), (std::vector<int64_t>{30, 10, 30}));
  EXPECT_EQ(to_reals(plain[1]), (std::vector<double>{0.25, 0, 1, 2, 0.5, 0, 0, 0.5, 1}));
  const auto softmax = small_forest().set("post_transform", "SOFTMAX").run_all();
  expect_near(softmax[1], {0.2566866, 0.1999078, 0.5434056, 0.7361247, 0.1642516, 0.09962364, 0.1863237,
                           0.3071959, 0.5064804});
}

TEST(MachineLearning, DamagedTreesAreRefused) {
  const auto refused = [](NodeUnderTest node) { EXPECT_THROW(node.run_all(), Error); };
  refused(small_forest().set("nodes_truenodeids", std::vector<int64_t>{0, 0, 0, 1, 0, 0}));  // its own child
  refused(small_forest().set("nodes_falsenodeids", std::vector<int64_t>{9, 0, 0, 2, 0, 0}));
  refused(small_forest().set("nodes_featureids", std::vector<int64_t>{2, 0, 0, 1, 0, 0}));
  refused(small_forest().set("nodes_featureids", std::vector<int64_t>{-1, 0, 0, 1, 0, 0}));
  refused(small_forest().set("nodes_nodeids", std::vector<int64_t>{0, 1, 1, 0, 1, 2}));
  refused(small_forest().set_reals("nodes_values", {0.5}));
  refused(small_forest().set("class_ids", std::vector<int64_t>{0, 1, 3, 0}));
  refused(small_forest().set("class_nodeids", std::vector<int64_t>{1, 2, 1, 7}));
  refused(small_forest().set_reals("base_values", {1, 2}));
  refused(
      small_forest().set_strings("nodes_modes", {"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH", "LEAF", "LEAF"}));
}

TEST(MachineLearning, OneVotedClassOfTwoGivesBothScores) {
  NodeUnderTest node = small_forest();
  node.set("class_ids", std::vector<int64_t>{0, 0, 0, 0})
      .set("classlabels_int64s", std::vector<int64_t>{0, 1});
  node.set_reals("class_weights", {0.25, 0.5, 0.125, 0.25});
  auto results = node.run_all();
  EXPECT_EQ(results[0].to_ints(), (std::vector<int64_t>{0, 1, 1}));  // 0.375, 0.75, 0.625 against a half
  EXPECT_EQ(to_reals(results[1]), (std::vector<double>{0.625, 0.375, 0.25, 0.75, 0.375, 0.625}));
  node.set_reals("class_weights", {-0.25, 0.5, 0.125, 0.25}).set("post_transform", "LOGISTIC");
  results = node.run_all();
  EXPECT_EQ(results[0].to_ints(), (std::vector<int64_t>{0, 1, 1}));  // -0.125, 0.75, 0.625 against zero
  EXPECT_NEAR(results[1].get_real(1), 1 / (1 + std::exp(0.125)), 1e-6);
}

TEST(MachineLearning, TreeEnsembleOfVersion5TestsMembership) {
  NodeUnderTest node = learned("TreeEnsemble", 5);
  node.input(reals({3, 1}, {2, 3, nan}))
      .set("n_targets", int64_t{2})
      .set("tree_roots", std::vector<int64_t>{0})
      .set("nodes_modes", ints({1}, {6}, ElementType::u8))
      .set("nodes_splits", reals({1}, {0}))
      .set("nodes_featureids", std::vector<int64_t>{0})
      .set("nodes_truenodeids", std::vector<int64_t>{0})
      .set("nodes_trueleafs", std::vector<int64_t>{1})
      .set("nodes_falsenodeids", std::vector<int64_t>{1})
      .set("nodes_falseleafs", std::vector<int64_t>{1})
      .set("leaf_targetids", std::vector<int64_t>{0, 1})
      .set("leaf_weights", reals({2}, {5, 7}))
      .set("membership_values", reals({3}, {2, 4, nan}));
  EXPECT_EQ(to_reals(node.run()), (std::vector<double>{5, 0, 0, 7, 0, 7}));
  EXPECT_THROW(node.set("nodes_truenodeids", std::vector<int64_t>{2}).run(), Error);
}

}  // namespace
}  // namespace axrun::ir::test
