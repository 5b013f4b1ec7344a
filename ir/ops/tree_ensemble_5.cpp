// ai.onnx.ml: TreeEnsemble, whose nodes and leaves are two lists that refer to each other by position.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/tree_ensemble_parts.h"

namespace axrun::ir {
namespace {

/// A tensor attribute of `type`, or of any float type where that is undefined; must be there.
const Tensor& tensor_attribute(const OperatorContext& context, std::string_view name, ElementType type,
                               size_t length) {
  const Tensor* tensor = context.tensor(name);
  if (tensor == nullptr) context.fail(fmt::format("attribute '{}' is missing", name));
  context.check(tensor->type() == type,
                fmt::format("attribute '{}' may not be of type {}", name, name_of(tensor->type())));
  context.check(tensor->size() == static_cast<int64_t>(length),
                fmt::format("attribute '{}' has {} values, not {}", name, tensor->size(), length));
  return *tensor;
}

std::vector<int64_t> integer_list(const OperatorContext& context, std::string_view name, size_t length) {
  std::vector<int64_t> values = context.integers(name);
  context.check(values.size() == length,
                fmt::format("attribute '{}' has {} values, not {}", name, values.size(), length));
  return values;
}

/// The sets of the nodes of mode member, each ended by a NaN.
std::vector<std::vector<double>> member_sets(const OperatorContext& context, ElementType type) {
  std::vector<std::vector<double>> sets;
  const Tensor* tensor = context.tensor("membership_values");
  if (tensor == nullptr) return sets;
  context.check(tensor->type() == type, "attribute 'membership_values' must be of the input's type");
  std::vector<double> set;
  for (int64_t k = 0; k < tensor->size(); ++k) {
    const double value = tensor->get_real(k);
    if (!std::isnan(value)) {
      set.push_back(value);
      continue;
    }
    std::sort(set.begin(), set.end());
    sets.push_back(std::move(set));
    set.clear();
  }
  if (!set.empty()) {  // a last NaN that was left out
    std::sort(set.begin(), set.end());
    sets.push_back(std::move(set));
  }
  return sets;
}

int32_t index_below(const OperatorContext& context, std::string_view what, int64_t value, size_t size) {
  context.check(value >= 0 && static_cast<uint64_t>(value) < size,
                fmt::format("{} {} is outside 0..{}", what, value, static_cast<int64_t>(size) - 1));
  return static_cast<int32_t>(value);
}

void read_leaves(const OperatorContext& context, ElementType type, TreeEnsemble& ensemble) {
  const auto targets = context.integers("leaf_targetids");
  context.check(!targets.empty() && targets.size() <= most_tree_nodes,
                fmt::format("{} leaves", targets.size()));
  const Tensor& weights = tensor_attribute(context, "leaf_weights", type, targets.size());
  for (size_t k = 0; k < targets.size(); ++k) {
    const auto position = static_cast<int32_t>(k);
    const int32_t target = index_below(context, "target", targets[k], static_cast<size_t>(ensemble.targets));
    ensemble.votes.push_back({target, weights.get_real(position)});
    ensemble.leaves.push_back({position, position + 1});
  }
}

void read_nodes(const OperatorContext& context, ElementType type, TreeEnsemble& ensemble) {
  const auto features = context.integers("nodes_featureids");
  const size_t count = features.size();
  context.check(count > 0 && count <= most_tree_nodes, fmt::format("{} nodes", count));
  const auto if_true = integer_list(context, "nodes_truenodeids", count);
  const auto if_false = integer_list(context, "nodes_falsenodeids", count);
  const auto true_is_leaf = integer_list(context, "nodes_trueleafs", count);
  const auto false_is_leaf = integer_list(context, "nodes_falseleafs", count);
  const Tensor& modes = tensor_attribute(context, "nodes_modes", ElementType::u8, count);
  const Tensor& splits = tensor_attribute(context, "nodes_splits", type, count);
  const auto missing = context.integers("nodes_missing_value_tracks_true");
  context.check(missing.empty() || missing.size() == count,
                fmt::format("attribute 'nodes_missing_value_tracks_true' has {} values, not {}",
                            missing.size(), count));
  ensemble.sets = member_sets(context, type);
  size_t next_set = 0;
  const auto child = [&](int64_t number, int64_t is_leaf) {
    return is_leaf != 0 ? ~index_below(context, "leaf", number, ensemble.leaves.size())
                        : index_below(context, "node", number, count);
  };
  for (size_t k = 0; k < count; ++k) {
    const int64_t mode = modes.get_int(static_cast<int64_t>(k));
    context.check(mode >= 0 && mode <= static_cast<int64_t>(TreeEnsemble::Mode::member),
                  fmt::format("node mode {} is unknown", mode));
    TreeEnsemble::Node node;
    node.mode = static_cast<TreeEnsemble::Mode>(mode);
    node.threshold = splits.get_real(static_cast<int64_t>(k));
    node.feature = feature_number(context, features[k]);
    node.if_true = child(if_true[k], true_is_leaf[k]);
    node.if_false = child(if_false[k], false_is_leaf[k]);
    node.missing_is_true = !missing.empty() && missing[k] == 1;
    if (node.mode == TreeEnsemble::Mode::member) {
      node.set =
          index_below(context, "set of members", static_cast<int64_t>(next_set++), ensemble.sets.size());
    }
    ensemble.nodes.push_back(node);
  }
  context.check(next_set == ensemble.sets.size(),
                fmt::format("{} sets of members for {} nodes", ensemble.sets.size(), next_set));
}

}  // namespace

void tree_ensemble_5(const OperatorContext& context, Builder& b) {
  const TensorRef x = typed_operand(b, context, 0, {ElementType::f16, ElementType::f32, ElementType::f64});
  context.check(x.rank() == 2, fmt::format("input shape {} is not [N, F]", to_string(x.dims())));
  auto ensemble = std::make_shared<TreeEnsemble>();
  ensemble->score_type = x.type();
  ensemble->targets = static_cast<int32_t>(bounded_integer(context, "n_targets", 1, 1, most_tree_targets));
  ensemble->aggregate =
      static_cast<TreeEnsemble::Aggregate>(bounded_integer(context, "aggregate_function", 1, 0, 3));
  ensemble->transform = static_cast<PostTransform>(bounded_integer(context, "post_transform", 0, 0, 4));
  read_leaves(context, x.type(), *ensemble);
  read_nodes(context, x.type(), *ensemble);
  const auto roots = context.integers("tree_roots");
  context.check(!roots.empty() && roots.size() <= most_tree_nodes, fmt::format("{} trees", roots.size()));
  for (int64_t root : roots) {
    ensemble->roots.push_back(index_below(context, "root", root, ensemble->nodes.size()));
  }
  output_tree_ensemble(context, b, {x, x.dims()[0], x.dims()[1]}, ensemble);
}

}  // namespace axrun::ir
