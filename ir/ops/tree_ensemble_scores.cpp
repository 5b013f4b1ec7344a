#include "ir/ops/tree_ensemble_scores.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace axrun::ir {
namespace {

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
void transform_row(PostTransform transform, std::span<double> row) {
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

/// Scores of two classes out of one: s is that of the second class, or of either where only one got votes.
void split_score(const TreeEnsemble& ensemble, double s, std::span<double> row) {
  if (ensemble.transform == PostTransform::probit) {
    row[0] = probit_of(s);
    row[1] = 0;
    return;
  }
  row[1] = s;
  if (ensemble.transform == PostTransform::logistic) {
    row[0] = logistic(-s);
    row[1] = logistic(s);
  } else if (ensemble.votes_for_one_class && ensemble.weights_not_negative) {
    row[0] = 1 - s;
  } else {
    row[0] = -s;
  }
}

}  // namespace

void finish_regression(const TreeEnsemble& ensemble, std::span<const TreeScore> scores,
                       std::span<double> row) {
  for (size_t k = 0; k < scores.size(); ++k) {
    double value = scores[k].value;
    if (ensemble.aggregate == TreeEnsemble::Aggregate::average) {
      value /= static_cast<double>(ensemble.roots.size());
    }
    if (ensemble.base_values.size() == scores.size()) value += ensemble.base_values[k];
    row[k] = value;
  }
  // A single score is only changed by PROBIT.
  if (row.size() > 1 || ensemble.transform == PostTransform::probit) transform_row(ensemble.transform, row);
}

size_t finish_classification(const TreeEnsemble& ensemble, std::span<TreeScore> scores,
                             std::span<double> row) {
  const auto& base = ensemble.base_values;
  if (scores.size() > 2) {
    for (size_t k = 0; k < base.size(); ++k) scores[k] = {scores[k].value + base[k], true};
    size_t winner = scores.size();
    for (size_t k = 0; k < scores.size(); ++k) {
      if (scores[k].voted && (winner == scores.size() || scores[k].value > scores[winner].value)) winner = k;
      row[k] = scores[k].value;
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
    for (size_t k = 0; k < scores.size(); ++k) row[k] = scores[k].voted ? scores[k].value : 0;
    transform_row(ensemble.transform, row);
  } else if (scores.size() == 2) {
    split_score(ensemble, scores[0].value, row);
  } else {
    row[0] = ensemble.transform == PostTransform::probit ? probit_of(scores[0].value) : scores[0].value;
  }
  return winner;
}

}  // namespace axrun::ir
