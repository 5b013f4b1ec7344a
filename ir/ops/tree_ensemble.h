#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ops/ml_rows.h"
#include "ir/types.h"

namespace axrun::ir {

/// An ensemble of decision trees: the payload of the opaque function "tree_ensemble". Every index in it has
/// been checked, and the trees have no cycles.
struct TreeEnsemble {
  enum class Mode : uint8_t { less_equal, less, greater_equal, greater, equal, not_equal, member };
  enum class Aggregate : uint8_t { average, sum, minimum, maximum };

  /// An inner node compares a feature with a threshold. A child is a node's number, or ~number of a leaf.
  struct Node {
    double threshold = 0;
    int32_t feature = 0;
    int32_t if_true = 0;
    int32_t if_false = 0;
    int32_t set = 0;  ///< of mode member: number in `sets`
    Mode mode = Mode::less_equal;
    bool missing_is_true = false;  ///< NaN takes the true branch, whatever the comparison says
  };
  /// A leaf adds to targets: its votes are [first, last) of `votes`.
  struct Leaf {
    int32_t first = 0;
    int32_t last = 0;
  };
  struct Vote {
    int32_t target = 0;
    double weight = 0;
  };

  std::vector<Node> nodes;
  std::vector<Leaf> leaves;
  std::vector<Vote> votes;
  std::vector<std::vector<double>> sets;  ///< sorted
  std::vector<int32_t> roots;             ///< one per tree, coded as a child
  int32_t features = 0;                   ///< 1 + the highest feature any node reads
  int32_t targets = 1;
  Aggregate aggregate = Aggregate::sum;
  PostTransform transform = PostTransform::none;
  std::vector<double> base_values;            ///< empty, one, or one per target
  ElementType score_type = ElementType::f32;  ///< of the result

  /// Classifiers answer labels too: results are (labels [N], scores [N, targets]) instead of scores alone.
  bool classifier = false;
  ClassLabels labels;
  bool votes_for_one_class = false;  ///< two classes, and all votes are for the same one
  bool weights_not_negative = false;
};

}  // namespace axrun::ir
