#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/ops/tree_ensemble.h"

namespace axrun::runtime {

/// The trees of an ensemble as walks read them: every node asks one question, `value <= threshold`.
///
/// Each mode is said in terms of it, exactly: thresholds become the number of type T next to them (v < t is
/// v <= the number below t), children change sides, == and != ask twice, sets of members are searched. NaN
/// answers "no", as numbers above the threshold do. Where it has to go the other way the node reads a copy of
/// its feature in which NaN is -infinity: rows are followed by these copies of all their values.
///
/// Nodes are stored tree by tree, breadth first. A leaf is a node whose children are itself, so that walks
/// down trees of different depths take the same number of steps.
template <typename T>
class TreeLayout {
 public:
  /// This many trees are walked at once, which hides the latency of each.
  static constexpr int lanes = 8;

  /// Of rows with `features` values, which no node may exceed. Null where positions would not fit 32 bits.
  static std::unique_ptr<const TreeLayout> of(const ir::TreeEnsemble& ensemble, int64_t features);

  /// Groups of `lanes` trees; the last one is filled up with trees whose one leaf has number leaves.size().
  int64_t groups() const { return static_cast<int64_t>(depths_.size()); }
  /// Whether rows have to be followed by copies.
  bool reads_copies() const { return reads_copies_; }

  /// The numbers of the leaves at which a row arrives in the trees of a group.
  void walk(int64_t group, const T* row, int32_t* leaves) const;

  /// Where to go next, in words of 8 bytes from the first node: if the answer is yes, and if it is no.
  struct Node {
    uint32_t next[2];
    int32_t feature;
    T threshold;
  };
  uint32_t root(int64_t tree) const { return roots_[static_cast<size_t>(tree)]; }
  const Node& node(uint32_t word) const { return nodes_[word / node_words]; }
  /// -1 for inner nodes.
  int32_t leaf(uint32_t word) const { return leaf_at_[word / node_words]; }
  /// What a walk of one row takes, in steps.
  int64_t steps() const;

 private:
  static constexpr uint32_t node_words = sizeof(Node) / 8;
  class Builder;

  std::vector<Node> nodes_;
  std::vector<int32_t> leaf_at_;  ///< by position of a node: the leaf's number; -1 for inner nodes
  std::vector<uint32_t> roots_;   ///< `lanes` for every group, in words
  /// By group: no walk takes more steps, and some walk of every row takes at least so many.
  std::vector<int32_t> depths_, least_;
  bool reads_copies_ = false;
};

extern template class TreeLayout<float>;
extern template class TreeLayout<double>;

}  // namespace axrun::runtime
