#pragma once

#include <cstddef>
#include <span>

#include "ir/ops/tree_ensemble.h"

namespace axrun::ir {

/// What the leaves of an ensemble said of one target.
struct TreeScore {
  double value = 0;
  bool voted = false;  ///< any leaf voted for it
};

/// Aggregate, base values and transform: `scores` (one per target) to a row of the result. Where the
/// specification is silent (two classes with votes for one of them, base values, transforms of a single
/// score) the results are ONNX Runtime's.
void finish_regression(const TreeEnsemble& ensemble, std::span<const TreeScore> scores,
                       std::span<double> row);
/// The same for a classifier; answers the number of the winning class. Changes `scores`.
size_t finish_classification(const TreeEnsemble& ensemble, std::span<TreeScore> scores,
                             std::span<double> row);

}  // namespace axrun::ir
