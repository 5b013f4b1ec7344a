#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/kernels/trees.h"
#include "runtime/operators/tree_layout.h"

namespace axrun::runtime {

/// Small trees as lists of questions (runtime/kernels/trees.h; Lucchese et al., QuickScorer, SIGIR 2015),
/// which a block of rows answers at once.
class TreeMasks {
 public:
  /// Null where a tree has more than 32 leaves, or where walks of so many rows are expected to take less
  /// time.
  static std::unique_ptr<const TreeMasks> of(const TreeLayout<float>& layout, int64_t trees, int64_t rows);

  int64_t block_rows() const { return blocks_.rows; }
  /// The features (of a row followed by its copies) that become columns of a block.
  std::span<const int32_t> features() const { return features_; }

  /// Trees whose leaves are found in one call.
  static constexpr int64_t most_trees = 32;
  /// Of the first `rows` rows of a block: the numbers of the leaves in trees [first, last), at most
  /// `most_trees`, as leaves[row * most_trees + tree - first].
  void leaves(int64_t first, int64_t last, const float* columns, int64_t rows, int32_t* leaves) const;

 private:
  class Builder;
  TreeBlocks blocks_ = {};
  std::vector<int32_t> features_;
  std::vector<TreeQuestion> questions_;
  std::vector<int32_t> begins_;        ///< of each tree's questions, and the end
  std::vector<int32_t> leaf_numbers_;  ///< of each tree's leaves, one tree after another
  std::vector<int32_t> first_leaves_;  ///< of each tree in leaf_numbers_
};

}  // namespace axrun::runtime
