// Evaluation of tree ensembles.
#include <algorithm>
#include <cmath>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/tree_ensemble_scores.h"

namespace axrun::ir {
namespace {

bool takes_true(const TreeEnsemble& ensemble, const TreeEnsemble::Node& node, double value) {
  if (std::isnan(value) && node.missing_is_true) return true;
  switch (node.mode) {
    case TreeEnsemble::Mode::less_equal:
      return value <= node.threshold;
    case TreeEnsemble::Mode::less:
      return value < node.threshold;
    case TreeEnsemble::Mode::greater_equal:
      return value >= node.threshold;
    case TreeEnsemble::Mode::greater:
      return value > node.threshold;
    case TreeEnsemble::Mode::equal:
      return value == node.threshold;
    case TreeEnsemble::Mode::not_equal:
      return value != node.threshold;
    case TreeEnsemble::Mode::member: {
      if (std::isnan(value)) return false;
      const auto& set = ensemble.sets[static_cast<size_t>(node.set)];
      return std::binary_search(set.begin(), set.end(), value);
    }
  }
  return false;
}

void collect_votes(const TreeEnsemble& ensemble, const std::vector<double>& row,
                   std::vector<TreeScore>& scores) {
  using Aggregate = TreeEnsemble::Aggregate;
  std::fill(scores.begin(), scores.end(), TreeScore{});
  for (int32_t at : ensemble.roots) {
    while (at >= 0) {
      const TreeEnsemble::Node& node = ensemble.nodes[static_cast<size_t>(at)];
      at = takes_true(ensemble, node, row[static_cast<size_t>(node.feature)]) ? node.if_true : node.if_false;
    }
    const TreeEnsemble::Leaf& leaf = ensemble.leaves[static_cast<size_t>(~at)];
    for (int32_t k = leaf.first; k < leaf.last; ++k) {
      const TreeEnsemble::Vote& vote = ensemble.votes[static_cast<size_t>(k)];
      TreeScore& score = scores[static_cast<size_t>(vote.target)];
      if (ensemble.aggregate == Aggregate::sum || ensemble.aggregate == Aggregate::average) {
        score.value += vote.weight;
      } else if (!score.voted) {
        score.value = vote.weight;
      } else {
        score.value = ensemble.aggregate == Aggregate::minimum ? std::min(score.value, vote.weight)
                                                               : std::max(score.value, vote.weight);
      }
      score.voted = true;
    }
  }
}

}  // namespace

Tensors tree_ensemble_function(const Stage& stage, const Tensors& arguments) {
  const auto& ensemble = payload_of<TreeEnsemble>(stage);
  const Tensor& x = arguments.at(0);
  const int64_t features = x.shape().back();
  const int64_t rows = x.rank() == 1 ? 1 : x.shape()[0];
  if (features < ensemble.features) {
    throw Error(Fault::user, "a tree reads feature " + std::to_string(ensemble.features - 1) + " of " +
                                 std::to_string(features));
  }
  const auto targets = static_cast<size_t>(ensemble.targets);
  Tensor result = Tensor::allocate(ensemble.score_type, {rows, ensemble.targets});
  Tensor labels;
  std::vector<std::string> strings;
  if (ensemble.classifier && ensemble.labels.is_string()) strings.resize(static_cast<size_t>(rows));
  if (ensemble.classifier && !ensemble.labels.is_string())
    labels = Tensor::allocate(ElementType::i64, {rows});

  std::vector<double> row(static_cast<size_t>(features));
  std::vector<TreeScore> scores(targets);
  std::vector<double> finished(targets);
  for (int64_t n = 0; n < rows; ++n) {
    for (int64_t f = 0; f < features; ++f) row[static_cast<size_t>(f)] = x.get_real(n * features + f);
    collect_votes(ensemble, row, scores);
    if (!ensemble.classifier) {
      finish_regression(ensemble, scores, finished);
    } else {
      const size_t winner = finish_classification(ensemble, scores, finished);
      // A single class is a yes or no: its label is not used.
      if (targets == 1) {
        labels.set_int(n, static_cast<int64_t>(winner));
      } else if (ensemble.labels.is_string()) {
        strings[static_cast<size_t>(n)] = ensemble.labels.strings[winner];
      } else {
        labels.set_int(n, ensemble.labels.integers[winner]);
      }
    }
    for (size_t k = 0; k < targets; ++k) {
      result.set_real(n * ensemble.targets + static_cast<int64_t>(k), finished[k]);
    }
  }
  if (!ensemble.classifier) return {result};
  if (ensemble.labels.is_string()) labels = Tensor::from_strings({rows}, std::move(strings));
  return {labels, result};
}

}  // namespace axrun::ir
