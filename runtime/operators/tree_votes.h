#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/ops/tree_ensemble_scores.h"

namespace axrun::runtime {

/// What the leaves that a row arrives at say of every target, in the order of the trees and, of a leaf, in
/// that of its votes: as the reference function adds, to the bit.
///
/// Where targets are few and sums are wanted, every leaf has a weight for every target: to add +0 to a sum
/// that began with +0 changes nothing, since no such sum is ever -0.
class TreeVotes {
 public:
  explicit TreeVotes(const ir::TreeEnsemble& ensemble);

  /// Of what is collected for one row; a multiple of 8.
  size_t state_bytes() const { return state_bytes_; }
  void clear(void* state) const;
  /// Leaf number leaves.size() has no votes.
  void add(std::span<const int32_t> leaves, void* state) const;
  /// One per target.
  void scores(const void* state, std::span<ir::TreeScore> scores) const;

 private:
  bool make_dense();
  template <int width>
  void add_dense(std::span<const int32_t> leaves, void* state) const;

  const ir::TreeEnsemble& ensemble_;
  int width_ = 0;                ///< targets, rounded up to a power of 2; 0 where leaves have lists of votes
  std::vector<double> weights_;  ///< `width_` per leaf
  std::vector<uint8_t> voted_;   ///< by leaf: a bit per target
  size_t state_bytes_ = 0;
};

}  // namespace axrun::runtime
