// Kernels of tree ensembles against the reference function, to the bit.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/error.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/operators/tree_layout.h"
#include "runtime/operators/tree_masks.h"
#include "runtime/parallel.h"
#include "tests/operators/generators.h"
#include "tests/operators/step.h"

namespace axrun::runtime {
namespace {

using ir::ElementType;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Thresholds, members and features alike: they meet often, and include what has no neighbour on one side.
double random_number(Random& random) {
  return random.pick<double>({0.0, -0.0, 0.5, 1, -1, 2, std::nan(""), infinity, -infinity, 1e-42, -1e-42,
                              3.4028234663852886e38, -3.4028234663852886e38});
}

struct LeafForest {
  int64_t rows = 1, features = 4, targets = 1, trees = 1;
  int64_t nodes = 1;         ///< of each tree
  int64_t reach = 4;         ///< children are among so many following nodes: small for deep trees
  bool shares = false;       ///< nodes may have several parents
  bool members = true;       ///< sets of members among the modes
  int64_t mode = -1;         ///< of all nodes; -1: any
  int missing_percent = 20;  ///< of nodes that send NaN to their true branch
  int64_t aggregate = 1;
  int threads = 1;
  ElementType type = ElementType::f32;
};

Case draw(Random& random, const LeafForest& f) {
  Case c;
  std::vector<int64_t> read, if_true, if_false, true_leaf, false_leaf, missing, roots, leaf_targets;
  std::vector<double> splits, members, weights;
  std::vector<int64_t> modes;
  const auto leaf = [&] {
    leaf_targets.push_back(random.integer(0, f.targets - 1));
    weights.push_back(random.real());
    return static_cast<int64_t>(leaf_targets.size()) - 1;
  };
  for (int64_t t = 0; t < f.trees; ++t) {
    const int64_t first = t * f.nodes;
    int64_t next = 1;  // of the nodes without a parent so far
    roots.push_back(first);
    for (int64_t k = 0; k < f.nodes; ++k) {
      read.push_back(random.integer(0, f.features - 1));
      splits.push_back(random_number(random));
      modes.push_back(f.mode >= 0 ? f.mode : random.integer(0, f.members ? 6 : 5));
      missing.push_back(random.chance(f.missing_percent) ? 1 : 0);
      for (auto [child, is_leaf] : {std::pair(&if_true, &true_leaf), std::pair(&if_false, &false_leaf)}) {
        const int64_t last = std::min(f.nodes - 1, k + f.reach);
        if (f.shares && k < last && random.chance(70)) {
          child->push_back(first + random.integer(k + 1, last));
          is_leaf->push_back(0);
        } else if (!f.shares && next < f.nodes && (next == k + 1 || (next <= last && random.chance(70)))) {
          child->push_back(first + next++);
          is_leaf->push_back(0);
        } else {
          child->push_back(leaf());
          is_leaf->push_back(1);
        }
      }
      if (modes.back() == 6) {
        for (int64_t m = random.integer(0, 5); m > 0; --m) {
          const double value = random_number(random);
          if (!std::isnan(value)) members.push_back(value);
        }
        members.push_back(std::nan(""));
      }
    }
  }
  const auto count = static_cast<int64_t>(modes.size());
  const auto tensor = [&](ElementType type, const ir::Shape& shape, const auto& values) {
    ir::Tensor result = ir::Tensor::allocate(type, shape);
    for (size_t k = 0; k < values.size(); ++k) {
      result.set_real(static_cast<int64_t>(k), static_cast<double>(values[k]));
    }
    return result;
  };
  ir::Tensor mode_tensor = ir::Tensor::allocate(ElementType::u8, {count});
  for (int64_t k = 0; k < count; ++k) mode_tensor.set_int(k, modes[static_cast<size_t>(k)]);
  std::vector<double> x;
  for (int64_t k = 0; k < f.rows * f.features; ++k) x.push_back(random_number(random));
  NodeBuilder node(c, "TreeEnsemble", 5, "ai.onnx.ml");
  node.input(tensor(f.type, {f.rows, f.features}, x))
      .integers("nodes_featureids", read)
      .integers("nodes_truenodeids", if_true)
      .integers("nodes_falsenodeids", if_false)
      .integers("nodes_trueleafs", true_leaf)
      .integers("nodes_falseleafs", false_leaf)
      .integers("nodes_missing_value_tracks_true", missing)
      .tensor("nodes_modes", mode_tensor)
      .tensor("nodes_splits", tensor(f.type, {count}, splits))
      .integers("tree_roots", roots)
      .integers("leaf_targetids", leaf_targets)
      .tensor("leaf_weights", tensor(f.type, {static_cast<int64_t>(weights.size())}, weights))
      .integer("n_targets", f.targets)
      .integer("aggregate_function", f.aggregate);
  if (!members.empty()) {
    node.tensor("membership_values", tensor(f.type, {static_cast<int64_t>(members.size())}, members));
  }
  node.output();
  return c;
}

void expect_same_bits(const Case& test_case, std::string_view op, int threads) {
  const auto pool = ThreadPool::make(threads);
  const StepUnderTest step(test_case, threads);
  const std::vector<ir::Tensor> wanted = step.evaluate(step.programs());
  int kernels = 0;
  for (const FactoryEntry& row : all_factories()) {
    if (row.domain != "ai.onnx.ml" || row.op != op) continue;
    const auto kernel = row.make(step.context());
    ASSERT_NE(kernel, nullptr);
    ++kernels;
    const std::vector<ir::Tensor> results = step.run(*kernel, *pool);
    for (size_t k = 0; k < wanted.size(); ++k) {
      ASSERT_EQ(results[k].size(), wanted[k].size());
      for (int64_t at = 0; at < wanted[k].size(); ++at) {
        const double got = results[k].get_real(at), want = wanted[k].get_real(at);
        ASSERT_TRUE((std::isnan(got) && std::isnan(want)) ||
                    (got == want && std::signbit(got) == std::signbit(want)))
            << kernel->describe() << ", output " << k << " at " << at << ": " << got << ", not " << want;
      }
    }
  }
  EXPECT_EQ(kernels, 1);
}

void expect_same_bits(const LeafForest& forest, uint64_t seed) {
  for (const IsaLevel level : {IsaLevel::sse2, IsaLevel::avx2, IsaLevel::avx512}) {
    if (level > best_isa_level()) continue;
    const IsaLevel before = isa_level();
    set_isa_level(level);
    Random random(seed);
    SCOPED_TRACE(fmt::format("seed {}, {}", seed, isa_level_name(level)));
    expect_same_bits(draw(random, forest), "TreeEnsemble", forest.threads);
    set_isa_level(before);
  }
}

TEST(TreeKernels, EveryModeAndMissingValue) {
  for (int64_t mode = 0; mode <= 6; ++mode) {
    for (int missing : {0, 50, 100}) {
      for (const ElementType type : {ElementType::f32, ElementType::f64}) {
        LeafForest f;
        f.rows = 37, f.features = 2, f.trees = 9, f.nodes = 7;
        f.mode = mode, f.missing_percent = missing, f.type = type;
        expect_same_bits(f, static_cast<uint64_t>(mode * 1000 + missing));
      }
    }
  }
}

TEST(TreeKernels, MixedModesTargetsAndAggregates) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    LeafForest f;
    f.rows = random.pick<int64_t>({1, 2, 7, 16, 17, 33});
    f.features = random.integer(1, 9);
    f.targets = random.pick<int64_t>({1, 2, 3, 8, 9, 40});
    f.trees = random.pick<int64_t>({1, 7, 8, 9, 30});
    f.nodes = random.integer(1, 40);
    f.reach = random.integer(1, 12);
    f.aggregate = random.integer(0, 3);
    f.members = random.chance(50);
    f.threads = random.pick({1, 3});
    expect_same_bits(f, seed);
  }
}

/// A node with two parents is not expanded: there would be 2^60 paths.
TEST(TreeKernels, NodesWithSeveralParents) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    LeafForest f;
    f.rows = 9, f.trees = 3, f.nodes = seed % 2 == 0 ? 12 : 120, f.reach = 2, f.shares = true;
    expect_same_bits(f, seed);
  }
}

TEST(TreeKernels, DeepTrees) {
  for (const int64_t depth : {7, 8, 9, 31, 32, 33, 2000}) {
    LeafForest f;
    f.rows = 20, f.trees = 10, f.nodes = depth, f.reach = 1, f.mode = 0;
    expect_same_bits(f, static_cast<uint64_t>(depth));
  }
}

/// Few rows and many trees: the trees are spread over the threads.
TEST(TreeKernels, TreesOfFewRowsAreSpread) {
  for (const int64_t rows : {1, 3}) {
    LeafForest f;
    f.rows = rows, f.trees = 9001, f.nodes = 3, f.targets = 3, f.threads = 4;
    expect_same_bits(f, static_cast<uint64_t>(rows));
  }
}

/// A chain of questions: as many leaves as questions, and one more.
ir::TreeEnsemble chain(int32_t questions) {
  ir::TreeEnsemble ensemble;
  for (int32_t k = 0; k < questions; ++k) {
    ir::TreeEnsemble::Node node;
    node.if_true = ~k;
    node.if_false = k + 1 < questions ? k + 1 : ~questions;
    ensemble.nodes.push_back(node);
  }
  ensemble.leaves.resize(static_cast<size_t>(questions) + 1);
  ensemble.roots = {0};
  ensemble.features = 1;
  return ensemble;
}

TEST(TreeKernels, SmallTreesOfManyRowsAreListsOfQuestions) {
  const auto asks = [](const ir::TreeEnsemble& ensemble, int64_t rows) {
    return TreeMasks::of(*TreeLayout<float>::of(ensemble, 1), 1, rows) != nullptr;
  };
  EXPECT_TRUE(asks(chain(1), 16));
  EXPECT_TRUE(asks(chain(31), 16));
  EXPECT_FALSE(asks(chain(32), 16));
  EXPECT_FALSE(asks(chain(100000), 16));
  // One row goes down two levels, where a block would answer 31 questions.
  ir::TreeEnsemble flat = chain(31);
  for (size_t k = 0; k < 31; ++k) {
    flat.nodes[k].if_true = k < 15 ? static_cast<int32_t>(2 * k + 1) : ~static_cast<int32_t>(2 * k - 30);
    flat.nodes[k].if_false = k < 15 ? static_cast<int32_t>(2 * k + 2) : ~static_cast<int32_t>(2 * k - 29);
  }
  flat.roots.assign(8, 0);
  EXPECT_FALSE(TreeMasks::of(*TreeLayout<float>::of(flat, 1), 8, 1) != nullptr);
  EXPECT_TRUE(TreeMasks::of(*TreeLayout<float>::of(flat, 1), 8, 16) != nullptr);
}

/// Two nodes and three leaves, with one attribute replaced: why it is refused; empty where it is not.
std::string refusal(const char* name, const std::vector<int64_t>& values) {
  Case c;
  NodeBuilder node(c, "TreeEnsemble", 5, "ai.onnx.ml");
  node.input(ir::Tensor::allocate(ElementType::f32, {2, 3}));
  const std::vector<std::pair<const char*, std::vector<int64_t>>> attributes = {
      {"nodes_featureids", {0, 2}},  {"nodes_truenodeids", {1, 1}}, {"nodes_falsenodeids", {0, 2}},
      {"nodes_trueleafs", {0, 1}},   {"nodes_falseleafs", {1, 1}},  {"tree_roots", {0}},
      {"leaf_targetids", {0, 0, 0}},
  };
  for (const auto& [known, usual] : attributes) {
    node.integers(known, std::string_view(known) == name ? values : usual);
  }
  ir::Tensor modes = ir::Tensor::allocate(ElementType::u8, {2});
  modes.set_int(0, 0);
  modes.set_int(1, 3);
  node.tensor("nodes_modes", modes)
      .tensor("nodes_splits", ir::Tensor::allocate(ElementType::f32, {2}))
      .tensor("leaf_weights", ir::Tensor::allocate(ElementType::f32, {3}))
      .integer("n_targets", 1)
      .output();
  try {
    const StepUnderTest step(c, 1);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(TreeKernels, DamagedTablesNeverBecomeLayouts) {
  EXPECT_EQ(refusal("", {}), "");
  const auto expect = [](const char* name, const std::vector<int64_t>& values, const char* reason) {
    EXPECT_NE(refusal(name, values).find(reason), std::string::npos) << name << ": " << refusal(name, values);
  };
  expect("nodes_truenodeids", {0, 1}, "cycle");  // its own child
  expect("nodes_trueleafs", {0, 0}, "cycle");
  expect("nodes_truenodeids", {2, 1}, "node 2 is outside");
  expect("nodes_truenodeids", {-1, 1}, "node -1 is outside");
  expect("nodes_truenodeids", {int64_t{1} << 40, 1}, "is outside");
  expect("nodes_falsenodeids", {3, 2}, "leaf 3 is outside");
  expect("nodes_falsenodeids", {-7, 2}, "leaf -7 is outside");
  expect("tree_roots", {2}, "root 2 is outside");
  expect("nodes_featureids", {0, 3}, "feature 3 of 3");
  expect("nodes_featureids", {0, -1}, "feature -1");
  expect("leaf_targetids", {0, 1, 0}, "target 1 is outside");
}

TEST(TreeKernels, ClassifiersAndRegressorsOfOtherTypes) {
  std::vector<GeneratorEntry> table;
  tree_generators(table);
  for (const GeneratorEntry& entry : table) {
    if (entry.op != "TreeEnsembleClassifier" && entry.op != "TreeEnsembleRegressor") continue;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      SCOPED_TRACE(fmt::format("{} seed {}", entry.op, seed));
      Random random(seed);
      expect_same_bits(entry.draw(random), entry.op, seed % 2 == 0 ? 1 : 3);
    }
  }
}

}  // namespace
}  // namespace axrun::runtime
