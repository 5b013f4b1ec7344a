// ai.onnx.ml: TreeEnsembleClassifier and TreeEnsembleRegressor, whose nodes are tuples of (tree, node)
// numbers.
#include "ir/ops/tree_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <unordered_map>

#include "ir/ops/compute.h"
#include "ir/ops/machine_learning.h"
#include "ir/ops/tree_ensemble_parts.h"

namespace axrun::ir {
namespace {

/// A list of numbers: attribute `name`, or the tensor `name`_as_tensor. Empty where neither is there.
std::vector<double> reals_or_tensor(const OperatorContext& context, const std::string& name) {
  const Tensor* tensor = context.tensor(name + "_as_tensor");
  if (tensor == nullptr) return context.reals(name);
  context.check(is_float(tensor->type()), fmt::format("attribute '{}_as_tensor' must hold floats", name));
  std::vector<double> values;
  for (int64_t k = 0; k < tensor->size(); ++k) values.push_back(tensor->get_real(k));
  return values;
}

void check_length(const OperatorContext& context, std::string_view name, size_t length, size_t wanted) {
  context.check(length == wanted, fmt::format("attribute '{}' has {} values, not {}", name, length, wanted));
}

std::vector<int64_t> integer_list(const OperatorContext& context, std::string_view name, size_t wanted) {
  std::vector<int64_t> values = context.integers(name);
  check_length(context, name, values.size(), wanted);
  return values;
}

struct NodeKey {
  int64_t tree;
  int64_t node;
  bool operator==(const NodeKey& other) const = default;
};
struct NodeKeyHash {
  size_t operator()(const NodeKey& key) const {
    return std::hash<int64_t>()(key.tree) * 0x9e3779b97f4a7c15ULL + std::hash<int64_t>()(key.node);
  }
};

/// The attributes nodes_*, and the child code (TreeEnsemble::Node) of every entry.
struct NodeList {
  std::vector<NodeKey> keys;
  std::vector<int32_t> codes;
  std::unordered_map<NodeKey, size_t, NodeKeyHash> entry_of;
};

void read_nodes(const OperatorContext& context, TreeEnsemble& ensemble, NodeList& list) {
  const auto trees = context.integers("nodes_treeids");
  const size_t count = trees.size();
  context.check(count > 0 && count <= most_tree_nodes, fmt::format("{} nodes", count));
  const auto numbers = integer_list(context, "nodes_nodeids", count);
  const auto features = integer_list(context, "nodes_featureids", count);
  const auto if_true = integer_list(context, "nodes_truenodeids", count);
  const auto if_false = integer_list(context, "nodes_falsenodeids", count);
  const auto modes = context.strings("nodes_modes");
  check_length(context, "nodes_modes", modes.size(), count);
  const auto thresholds = reals_or_tensor(context, "nodes_values");
  check_length(context, "nodes_values", thresholds.size(), count);
  const auto missing = context.integers("nodes_missing_value_tracks_true");
  if (!missing.empty()) check_length(context, "nodes_missing_value_tracks_true", missing.size(), count);

  int32_t inner = 0;
  int32_t leaves = 0;
  for (size_t k = 0; k < count; ++k) {
    list.keys.push_back({trees[k], numbers[k]});
    const bool is_new = list.entry_of.emplace(list.keys.back(), k).second;
    context.check(is_new, fmt::format("node {} of tree {} is there twice", numbers[k], trees[k]));
    list.codes.push_back(modes[k] == "LEAF" ? ~leaves++ : inner++);
    if (k == 0 || trees[k] != trees[k - 1]) ensemble.roots.push_back(list.codes.back());
  }
  ensemble.leaves.resize(static_cast<size_t>(leaves));
  const auto child = [&](size_t k, int64_t number) {
    const auto found = list.entry_of.find({trees[k], number});
    if (found == list.entry_of.end()) {
      context.fail(fmt::format("tree {} has no node {}, a child of node {}", trees[k], number, numbers[k]));
    }
    return list.codes[found->second];
  };
  for (size_t k = 0; k < count; ++k) {
    if (list.codes[k] < 0) continue;
    TreeEnsemble::Node node;
    node.mode = tree_mode(context, modes[k]);
    node.threshold = thresholds[k];
    node.feature = feature_number(context, features[k]);
    node.if_true = child(k, if_true[k]);
    node.if_false = child(k, if_false[k]);
    node.missing_is_true = !missing.empty() && missing[k] == 1;
    ensemble.nodes.push_back(node);
  }
}

/// The attributes prefix_treeids, _nodeids, _ids and _weights. Votes of inner nodes have no effect.
void read_votes(const OperatorContext& context, const std::string& prefix, const NodeList& list,
                TreeEnsemble& ensemble) {
  const auto trees = context.integers(prefix + "_treeids");
  const auto numbers = integer_list(context, prefix + "_nodeids", trees.size());
  const auto targets = integer_list(context, prefix + "_ids", trees.size());
  const auto weights = reals_or_tensor(context, prefix + "_weights");
  check_length(context, prefix + "_weights", weights.size(), trees.size());
  context.check(trees.size() <= most_tree_nodes, "too many votes");

  std::vector<int32_t> leaf_of;  // per vote; -1 for inner nodes
  std::vector<int32_t> counts(ensemble.leaves.size(), 0);
  ensemble.votes_for_one_class = !targets.empty();
  ensemble.weights_not_negative = true;
  for (size_t k = 0; k < trees.size(); ++k) {
    const auto found = list.entry_of.find({trees[k], numbers[k]});
    if (found == list.entry_of.end()) {
      context.fail(fmt::format("tree {} has no node {}, which votes", trees[k], numbers[k]));
    }
    context.check(targets[k] >= 0 && targets[k] < ensemble.targets,
                  fmt::format("a vote for target {} of {}", targets[k], ensemble.targets));
    ensemble.votes_for_one_class = ensemble.votes_for_one_class && targets[k] == targets[0];
    ensemble.weights_not_negative = ensemble.weights_not_negative && !(weights[k] < 0);
    const int32_t code = list.codes[found->second];
    leaf_of.push_back(code < 0 ? ~code : -1);
    if (code < 0) ++counts[static_cast<size_t>(~code)];
  }
  int32_t total = 0;
  for (size_t leaf = 0; leaf < counts.size(); ++leaf) {
    ensemble.leaves[leaf] = {total, total};
    total += counts[leaf];
  }
  ensemble.votes.resize(static_cast<size_t>(total));
  for (size_t k = 0; k < leaf_of.size(); ++k) {
    if (leaf_of[k] < 0) continue;
    int32_t& next = ensemble.leaves[static_cast<size_t>(leaf_of[k])].last;
    ensemble.votes[static_cast<size_t>(next++)] = {static_cast<int32_t>(targets[k]), weights[k]};
  }
}

TreeEnsemble::Aggregate aggregate_attribute(const OperatorContext& context) {
  const std::string name = context.string("aggregate_function", "SUM");
  if (name == "SUM") return TreeEnsemble::Aggregate::sum;
  if (name == "AVERAGE") return TreeEnsemble::Aggregate::average;
  if (name == "MIN") return TreeEnsemble::Aggregate::minimum;
  if (name == "MAX") return TreeEnsemble::Aggregate::maximum;
  context.fail(fmt::format("aggregate_function '{}' is unknown", name));
}

void read_base_values(const OperatorContext& context, TreeEnsemble& ensemble) {
  ensemble.base_values = reals_or_tensor(context, "base_values");
  const size_t size = ensemble.base_values.size();
  context.check(size <= 1 || size == static_cast<size_t>(ensemble.targets),
                fmt::format("{} base_values for {} targets", size, ensemble.targets));
}

void tree_ensemble_regressor(const OperatorContext& context, Builder& b) {
  const FeatureRows x = feature_rows(b, context, 0);
  auto ensemble = std::make_shared<TreeEnsemble>();
  ensemble->targets = static_cast<int32_t>(bounded_integer(context, "n_targets", 0, 1, most_tree_targets));
  ensemble->aggregate = aggregate_attribute(context);
  ensemble->transform = post_transform_attribute(context);
  NodeList list;
  read_nodes(context, *ensemble, list);
  read_votes(context, "target", list, *ensemble);
  read_base_values(context, *ensemble);
  output_tree_ensemble(context, b, x, ensemble);
}

void tree_ensemble_classifier(const OperatorContext& context, Builder& b) {
  const FeatureRows x = feature_rows(b, context, 0);
  auto ensemble = std::make_shared<TreeEnsemble>();
  ensemble->classifier = true;
  ensemble->labels = class_labels(context, "classlabels_int64s", "classlabels_strings");
  const size_t classes = ensemble->labels.count();
  context.check(classes <= most_tree_targets, fmt::format("{} classes", classes));
  if (classes == 1 && ensemble->labels.is_string()) context.unsupported("a single class with a string label");
  ensemble->targets = static_cast<int32_t>(classes);
  ensemble->transform = post_transform_attribute(context);
  NodeList list;
  read_nodes(context, *ensemble, list);
  read_votes(context, "class", list, *ensemble);
  read_base_values(context, *ensemble);
  output_tree_ensemble(context, b, x, ensemble);
}

}  // namespace

TreeEnsemble::Mode tree_mode(const OperatorContext& context, std::string_view name) {
  using Mode = TreeEnsemble::Mode;
  if (name == "BRANCH_LEQ") return Mode::less_equal;
  if (name == "BRANCH_LT") return Mode::less;
  if (name == "BRANCH_GTE") return Mode::greater_equal;
  if (name == "BRANCH_GT") return Mode::greater;
  if (name == "BRANCH_EQ") return Mode::equal;
  if (name == "BRANCH_NEQ") return Mode::not_equal;
  context.fail(fmt::format("node mode '{}' is unknown", name));
}

int32_t feature_number(const OperatorContext& context, int64_t number) {
  context.check(number >= 0 && number < std::numeric_limits<int32_t>::max(),
                fmt::format("feature {} is out of range", number));
  return static_cast<int32_t>(number);
}

void output_tree_ensemble(const OperatorContext& context, Builder& b, const FeatureRows& x,
                          const std::shared_ptr<TreeEnsemble>& ensemble) {
  refuse_cycles(context, *ensemble);
  for (const TreeEnsemble::Node& node : ensemble->nodes) {
    ensemble->features = std::max(ensemble->features, node.feature + 1);
  }
  if (const auto features = x.features.constant()) {
    context.check(ensemble->features <= *features,
                  fmt::format("a node reads feature {} of {}", ensemble->features - 1, *features));
  }
  std::vector<std::pair<ElementType, Dims>> results;
  if (ensemble->classifier) {
    results.push_back({ensemble->labels.is_string() ? ElementType::string : ElementType::i64, {x.rows}});
  }
  results.push_back({ensemble->score_type, {x.rows, Dim(int64_t{ensemble->targets})}});
  for (const TensorRef& result : b.opaque("tree_ensemble", {x.x}, results, ensemble)) b.output(result);
}

void refuse_cycles(const OperatorContext& context, const TreeEnsemble& ensemble) {
  // A node is open while its descendants are visited; meeting an open one closes a cycle.
  enum class Mark : uint8_t { fresh, open, done };
  std::vector<Mark> marks(ensemble.nodes.size(), Mark::fresh);
  std::vector<int32_t> path;
  for (int32_t root : ensemble.roots) {
    if (root >= 0 && marks[static_cast<size_t>(root)] == Mark::fresh) path.push_back(root);
    while (!path.empty()) {
      const auto current = static_cast<size_t>(path.back());
      if (marks[current] != Mark::fresh) {
        marks[current] = Mark::done;
        path.pop_back();
        continue;
      }
      marks[current] = Mark::open;
      for (int32_t child : {ensemble.nodes[current].if_true, ensemble.nodes[current].if_false}) {
        if (child < 0) continue;
        const Mark mark = marks[static_cast<size_t>(child)];
        context.check(mark != Mark::open, "a tree has a cycle");
        if (mark == Mark::fresh) path.push_back(child);
      }
    }
  }
}

void tree_ensemble_operators(std::vector<OperatorEntry>& table) {
  constexpr std::string_view domain = "ai.onnx.ml";
  table.push_back({domain, "TreeEnsembleRegressor", 1, tree_ensemble_regressor});
  table.push_back({domain, "TreeEnsembleClassifier", 1, tree_ensemble_classifier});
  table.push_back({domain, "TreeEnsemble", 5, tree_ensemble_5});
}

}  // namespace axrun::ir
