// ai.onnx.ml: tree ensembles and the operators that prepare their input.
#include <cmath>

#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr std::string_view ml = "ai.onnx.ml";

/// Rows of features on a coarse grid, so that they meet thresholds; sometimes NaN.
ir::Tensor features(Random& random, ElementType type, const ir::Shape& shape) {
  ir::Tensor x = random.tensor(type, shape, -4, 4);
  for (int64_t i = 0; i < x.size() && ir::is_float(type); ++i) {
    x.set_real(i, random.chance(3) ? std::nan("") : static_cast<double>(random.integer(-8, 8)) / 2);
  }
  return x;
}

/// The attributes of one forest under construction.
struct Forest {
  std::vector<int64_t> trees, numbers, features, if_true, if_false, missing;
  std::vector<std::string> modes;
  std::vector<double> thresholds;
  std::vector<int64_t> vote_trees, vote_numbers, vote_targets;
  std::vector<double> weights;
};

/// Grows a subtree below a new node and answers its number.
int64_t grow(Forest& forest, Random& random, int64_t tree, int64_t& next, int depth, int64_t feature_count,
             int64_t targets, const char* mode) {
  const int64_t number = next++;
  const size_t at = forest.trees.size();
  forest.trees.push_back(tree);
  forest.numbers.push_back(number);
  forest.if_true.push_back(0);
  forest.if_false.push_back(0);
  forest.missing.push_back(mode == nullptr && random.chance(20) ? 1 : 0);
  forest.features.push_back(random.integer(0, feature_count - 1));
  forest.thresholds.push_back(static_cast<double>(random.integer(-6, 6)) / 2);
  if (depth == 0 || random.chance(15)) {
    forest.modes.emplace_back("LEAF");
    const int64_t votes = random.integer(1, std::min<int64_t>(targets, 2));
    for (int64_t v = 0; v < votes; ++v) {
      forest.vote_trees.push_back(tree);
      forest.vote_numbers.push_back(number);
      forest.vote_targets.push_back(random.integer(0, targets - 1));
      forest.weights.push_back(random.real());
    }
    return number;
  }
  forest.modes.emplace_back(mode != nullptr
                                ? mode
                                : random.pick<const char*>({"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                            "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"}));
  forest.if_true[at] = grow(forest, random, tree, next, depth - 1, feature_count, targets, mode);
  forest.if_false[at] = grow(forest, random, tree, next, depth - 1, feature_count, targets, mode);
  return number;
}

Case forest(Random& random, bool classifier) {
  Case c;
  const int64_t rows = random.integer(1, 9), feature_count = random.integer(1, 6);
  const int64_t targets = random.integer(1, 4);
  const char* mode =
      random.chance(60) ? random.pick<const char*>({"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT"}) : nullptr;
  Forest f;
  const int64_t trees = random.integer(1, 6);
  for (int64_t t = 0; t < trees; ++t) {
    int64_t next = 0;
    grow(f, random, t, next, static_cast<int>(random.integer(0, 4)), feature_count, targets, mode);
  }
  const ElementType type =
      random.pick({ElementType::f32, ElementType::f32, ElementType::f64, ElementType::i64, ElementType::i32});
  NodeBuilder node(c, classifier ? "TreeEnsembleClassifier" : "TreeEnsembleRegressor", 3, ml);
  node.input(features(random, type, {rows, feature_count}));
  node.integers("nodes_treeids", f.trees)
      .integers("nodes_nodeids", f.numbers)
      .integers("nodes_featureids", f.features)
      .integers("nodes_truenodeids", f.if_true)
      .integers("nodes_falsenodeids", f.if_false)
      .integers("nodes_missing_value_tracks_true", f.missing)
      .texts("nodes_modes", f.modes)
      .reals("nodes_values", f.thresholds);
  const std::string prefix = classifier ? "class" : "target";
  node.integers((prefix + "_treeids").c_str(), f.vote_trees)
      .integers((prefix + "_nodeids").c_str(), f.vote_numbers)
      .integers((prefix + "_ids").c_str(), f.vote_targets)
      .reals((prefix + "_weights").c_str(), f.weights);
  node.text("post_transform", random.pick<const char*>({"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"}));
  if (random.chance(40)) {
    std::vector<double> base;
    for (int64_t k = 0; k < targets; ++k) base.push_back(random.real());
    node.reals("base_values", base);
  }
  if (classifier) {
    std::vector<int64_t> labels;
    for (int64_t k = 0; k < targets; ++k) labels.push_back(10 * k + random.integer(0, 9));
    node.integers("classlabels_int64s", labels);
    node.output();
  } else {
    node.integer("n_targets", targets);
    node.text("aggregate_function", random.pick<const char*>({"SUM", "AVERAGE", "MIN", "MAX"}));
  }
  node.output();
  return c;
}
Case classifier(Random& random) { return forest(random, true); }
Case regressor(Random& random) { return forest(random, false); }

/// Complete binary trees of one depth, nodes and leaves by position.
Case tree_ensemble(Random& random) {
  Case c;
  const int64_t depth = random.integer(1, 4), trees = random.integer(1, 5), targets = random.integer(1, 3);
  const int64_t rows = random.integer(1, 6), feature_count = random.integer(1, 5);
  const int64_t inner = (int64_t{1} << depth) - 1, leaves = int64_t{1} << depth;
  const ElementType type = random.pick({ElementType::f32, ElementType::f64});
  std::vector<int64_t> features_read, if_true, if_false, true_leaf, false_leaf, roots, leaf_targets;
  for (int64_t t = 0; t < trees; ++t) {
    roots.push_back(t * inner);
    for (int64_t k = 0; k < inner; ++k) {
      features_read.push_back(random.integer(0, feature_count - 1));
      const auto child = [&](int64_t heap) {
        return heap < inner ? t * inner + heap : t * leaves + heap - inner;
      };
      if_true.push_back(child(2 * k + 1));
      if_false.push_back(child(2 * k + 2));
      true_leaf.push_back(2 * k + 1 >= inner);
      false_leaf.push_back(2 * k + 2 >= inner);
    }
  }
  for (int64_t k = 0; k < trees * leaves; ++k) leaf_targets.push_back(random.integer(0, targets - 1));
  ir::Tensor modes = random.tensor(ElementType::u8, {trees * inner}, 0, 5);
  NodeBuilder(c, "TreeEnsemble", 5, ml)
      .input(features(random, type, {rows, feature_count}))
      .integers("nodes_featureids", features_read)
      .integers("nodes_truenodeids", if_true)
      .integers("nodes_falsenodeids", if_false)
      .integers("nodes_trueleafs", true_leaf)
      .integers("nodes_falseleafs", false_leaf)
      .tensor("nodes_modes", modes)
      .tensor("nodes_splits", features(random, type, {trees * inner}).converted(type))
      .integers("tree_roots", roots)
      .integers("leaf_targetids", leaf_targets)
      .tensor("leaf_weights", random.tensor(type, {trees * leaves}))
      .integer("n_targets", targets)
      .integer("aggregate_function", random.integer(0, 3))
      .integer("post_transform", random.pick<int64_t>({0, 1, 2}))
      .output();
  return c;
}

Case imputer(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 2, 6);
  const bool nan = random.chance(50);
  std::vector<double> imputed;
  for (int64_t k = random.chance(50) ? 1 : shape.back(); k > 0; --k) imputed.push_back(random.real());
  NodeBuilder(c, "Imputer", 1, ml)
      .input(features(random, ElementType::f32, shape))
      .reals("imputed_value_floats", imputed)
      .real("replaced_value_float", nan ? std::nan("") : static_cast<double>(random.integer(-2, 2)) / 2)
      .output();
  return c;
}

Case scaler(Random& random) {
  Case c;
  const ir::Shape shape = random.shape(1, 2, 6);
  const auto list = [&] {
    std::vector<double> values;
    for (int64_t k = random.chance(50) ? 1 : shape.back(); k > 0; --k) values.push_back(random.real());
    return values;
  };
  NodeBuilder(c, "Scaler", 1, ml)
      .input(random.floats(shape, -5, 5))
      .reals("offset", list())
      .reals("scale", list())
      .output();
  return c;
}

Case vectorizer(Random& random) {
  Case c;
  const int64_t rows = random.integer(1, 4), parts = random.integer(1, 5);
  std::vector<int64_t> widths;
  NodeBuilder node(c, "FeatureVectorizer", 1, ml);
  for (int64_t k = 0; k < parts; ++k) {
    const int64_t columns = random.integer(1, 4);
    const auto type = random.pick(
        {ElementType::f32, ElementType::f32, ElementType::f64, ElementType::i64, ElementType::i32});
    node.input(random.tensor(type, {rows, columns}, -9, 9));
    widths.push_back(random.chance(70) ? columns : random.integer(0, 5));
  }
  if (random.chance(60)) node.integers("inputdimensions", widths);
  node.output();
  return c;
}

}  // namespace

void tree_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({ml, "TreeEnsembleClassifier", classifier});
  table.push_back({ml, "TreeEnsembleRegressor", regressor});
  table.push_back({ml, "TreeEnsemble", tree_ensemble});
  table.push_back({ml, "Imputer", imputer});
  table.push_back({ml, "Scaler", scaler});
  table.push_back({ml, "FeatureVectorizer", vectorizer});
}

}  // namespace axrun::runtime
