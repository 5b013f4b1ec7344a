// Evaluation of tree ensembles. Where the specification is silent (two classes with votes for one of them,
// base values, transforms of a single score) the results are ONNX Runtime's.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/error.h"
#include "ir/ops/opaque_functions.h"
#include "ir/ops/tree_ensemble.h"

namespace axrun::ir {
namespace {

struct Score {
  double value = 0;
  bool voted = false;  ///< any leaf voted for it
};

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

void collect_votes(const TreeEnsemble& ensemble, const std::vector<double>& row, std::vector<Score>& scores) {
  using Aggregate = TreeEnsemble::Aggregate;
  std::fill(scores.begin(), scores.end(), Score{});
  for (int32_t at : ensemble.roots) {
    while (at >= 0) {
      const TreeEnsemble::Node& node = ensemble.nodes[static_cast<size_t>(at)];
      at = takes_true(ensemble, node, row[static_cast<size_t>(node.feature)]) ? node.if_true : node.if_false;
    }
    const TreeEnsemble::Leaf& leaf = ensemble.leaves[static_cast<size_t>(~at)];
    for (int32_t k = leaf.first; k < leaf.last; ++k) {
      const TreeEnsemble::Vote& vote = ensemble.votes[static_cast<size_t>(k)];
      Score& score = scores[static_cast<size_t>(vote.target)];
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

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

double probit_of(double p) {
  constexpr double a = 0.147;
  const double x = 2 * p - 1;
  const double logarithm = std::log((1 - x) * (1 + x));
  const double half = 2 / (std::numbers::pi * a) + 0.5 * logarithm;
  const double magnitude = std::sqrt(std::sqrt(half * half - logarithm / a) - half);
  return std::numbers::sqrt2 * (x < 0 ? -magnitude : magnitude);
}

/// See post_transform in ir/ops/ml_rows.h: the same on one row of two or more scores.
void transform_row(PostTransform transform, std::vector<double>& row) {
  switch (transform) {
    case PostTransform::none:
      return;
    case PostTransform::logistic:
      for (double& value : row) value = logistic(value);
      return;
    case PostTransform::probit:
      for (double& value : row) value = probit_of(value);
      return;
    case PostTransform::softmax:
    case PostTransform::softmax_zero: {
      const double highest = *std::max_element(row.begin(), row.end());
      double sum = 0;
      for (double& value : row) {
        if (transform == PostTransform::softmax_zero && std::fabs(value) <= 1e-7) {
          value *= std::exp(-highest);
        } else {
          value = std::exp(value - highest);
          sum += value;
        }
      }
      for (double& value : row) value /= sum;
      return;
    }
  }
}

void finish_regression(const TreeEnsemble& ensemble, const std::vector<Score>& scores,
                       std::vector<double>& row) {
  row.clear();
  for (size_t k = 0; k < scores.size(); ++k) {
    double value = scores[k].value;
    if (ensemble.aggregate == TreeEnsemble::Aggregate::average) {
      value /= static_cast<double>(ensemble.roots.size());
    }
    if (ensemble.base_values.size() == scores.size()) value += ensemble.base_values[k];
    row.push_back(value);
  }
  // A single score is only changed by PROBIT.
  if (row.size() > 1 || ensemble.transform == PostTransform::probit) transform_row(ensemble.transform, row);
}

/// Scores of two classes out of one: s is that of the second class, or of either where only one got votes.
void split_score(const TreeEnsemble& ensemble, double s, std::vector<double>& row) {
  if (ensemble.transform == PostTransform::probit) {
    row = {probit_of(s), 0};
  } else if (ensemble.transform == PostTransform::logistic) {
    row = {logistic(-s), logistic(s)};
  } else if (ensemble.votes_for_one_class && ensemble.weights_not_negative) {
    row = {1 - s, s};
  } else {
    row = {-s, s};
  }
}

/// Fills `row` and answers the number of the winning class.
size_t finish_classification(const TreeEnsemble& ensemble, std::vector<Score>& scores,
                             std::vector<double>& row) {
  const auto& base = ensemble.base_values;
  row.clear();
  if (scores.size() > 2) {
    for (size_t k = 0; k < base.size(); ++k) scores[k] = {scores[k].value + base[k], true};
    size_t winner = scores.size();
    for (size_t k = 0; k < scores.size(); ++k) {
      if (scores[k].voted && (winner == scores.size() || scores[k].value > scores[winner].value)) winner = k;
      row.push_back(scores[k].value);
    }
    transform_row(ensemble.transform, row);
    return winner == scores.size() ? 0 : winner;
  }

  bool two_scores = scores.size() == 2;
  if (scores.size() == 1) {
    if (base.size() == 1) scores[0].value += base[0];
  } else if (base.size() == 2) {
    if (scores[1].voted) {
      scores[1].value = base[1] + scores[0].value;
      scores[0].value = -scores[1].value;
    } else {
      scores[1].value += base[1];
      scores[0].value += base[0];
    }
  } else {
    if (base.size() == 1) scores[0].value += base[0];
    two_scores = scores[1].voted;
  }
  const bool second_voted = scores.size() == 2 && scores[1].voted;
  const double deciding = second_voted ? scores[1].value : scores[0].value;
  const bool halves = scores.size() == 2 && ensemble.votes_for_one_class && ensemble.weights_not_negative;
  const size_t winner = deciding > (halves ? 0.5 : 0.0) ? 1 : 0;
  if (two_scores) {
    // Without a vote a class has no score, base value or not.
    for (const Score& score : scores) row.push_back(score.voted ? score.value : 0);
    transform_row(ensemble.transform, row);
  } else if (scores.size() == 2) {
    split_score(ensemble, scores[0].value, row);
  } else {
    row = {ensemble.transform == PostTransform::probit ? probit_of(scores[0].value) : scores[0].value};
  }
  return winner;
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
  std::vector<Score> scores(targets);
  std::vector<double> finished;
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
