#pragma once

#include <vector>

#include "ir/builder.h"

namespace axrun::ir {

// Classifiers that decide between pairs of classes: column p of `decisions` [N, classes * (classes - 1) / 2]
// belongs to the p-th pair (i, j), i < j, in lexicographic order; positive means class i.

/// Number of decisions for each class: [N, classes], i64.
TensorRef pairwise_votes(Builder& b, const TensorRef& decisions, size_t classes);

/// Probabilities of the classes, [N, classes], from those of the pairs, 1 / (1 + exp(decision * a[p] +
/// b[p])): the second method of Wu, Lin and Weng, "Probability Estimates for Multi-class Classification by
/// Pairwise Coupling" (2004), with libsvm's stopping rule (error below 0.005 / classes, at most 100 rounds).
TensorRef pairwise_probabilities(Builder& b, const TensorRef& decisions, size_t classes,
                                 const std::vector<double>& scale, const std::vector<double>& offset);

}  // namespace axrun::ir
