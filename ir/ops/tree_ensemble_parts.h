#pragma once

#include <memory>
#include <string_view>

#include "ir/operator.h"
#include "ir/ops/tree_ensemble.h"

namespace axrun::ir {

// What the two encodings of tree ensembles share: tuples of node numbers (tree_ensemble.cpp) and indices
// (tree_ensemble_5.cpp).

inline constexpr size_t most_tree_nodes = size_t{1} << 28;
inline constexpr int64_t most_tree_targets = int64_t{1} << 24;

TreeEnsemble::Mode tree_mode(const OperatorContext& context, std::string_view name);
int32_t feature_number(const OperatorContext& context, int64_t number);
/// A walk must end: refuses a node that is its own descendant.
void refuse_cycles(const OperatorContext& context, const TreeEnsemble& ensemble);
/// Checks the finished ensemble against the input and declares the node's outputs.
void output_tree_ensemble(const OperatorContext& context, Builder& b, const FeatureRows& x,
                          const std::shared_ptr<TreeEnsemble>& ensemble);

/// Definition of TreeEnsemble since version 5.
void tree_ensemble_5(const OperatorContext& context, Builder& b);

}  // namespace axrun::ir
