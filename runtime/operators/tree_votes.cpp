#include "runtime/operators/tree_votes.h"

#include <algorithm>
#include <cstring>

namespace axrun::runtime {
namespace {

using Aggregate = ir::TreeEnsemble::Aggregate;

constexpr int widest = 8;

bool sums(const ir::TreeEnsemble& ensemble) {
  return ensemble.aggregate == Aggregate::sum || ensemble.aggregate == Aggregate::average;
}

void vote(Aggregate aggregate, const ir::TreeEnsemble::Vote& vote, ir::TreeScore& score) {
  if (aggregate == Aggregate::sum || aggregate == Aggregate::average) {
    score.value += vote.weight;
  } else if (!score.voted) {
    score.value = vote.weight;
  } else {
    score.value = aggregate == Aggregate::minimum ? std::min(score.value, vote.weight)
                                                  : std::max(score.value, vote.weight);
  }
  score.voted = true;
}

}  // namespace

TreeVotes::TreeVotes(const ir::TreeEnsemble& ensemble) : ensemble_(ensemble) {
  // Of weights for every target: the sums, and a word with a bit per target.
  state_bytes_ = make_dense() ? (static_cast<size_t>(width_) + 1) * sizeof(double)
                              : static_cast<size_t>(ensemble.targets) * sizeof(ir::TreeScore);
}

/// False where lists of votes say the same in less memory, or where a leaf votes twice for one target.
bool TreeVotes::make_dense() {
  if (!sums(ensemble_) || ensemble_.targets > widest) return false;
  int width = 1;
  while (width < ensemble_.targets) width *= 2;
  const size_t leaves = ensemble_.leaves.size() + 1;
  const size_t size = leaves * static_cast<size_t>(width);
  if (size > 4 * ensemble_.votes.size() + 1024) return false;
  std::vector<double> weights(size, 0.0);
  std::vector<uint8_t> voted(leaves, 0);
  for (size_t leaf = 0; leaf + 1 < leaves; ++leaf) {
    for (int32_t k = ensemble_.leaves[leaf].first; k < ensemble_.leaves[leaf].last; ++k) {
      const ir::TreeEnsemble::Vote& vote = ensemble_.votes[static_cast<size_t>(k)];
      const auto bit = static_cast<uint8_t>(1 << vote.target);
      if ((voted[leaf] & bit) != 0) return false;
      voted[leaf] = static_cast<uint8_t>(voted[leaf] | bit);
      weights[leaf * static_cast<size_t>(width) + static_cast<size_t>(vote.target)] = vote.weight;
    }
  }
  width_ = width;
  weights_ = std::move(weights);
  voted_ = std::move(voted);
  return true;
}

void TreeVotes::clear(void* state) const { std::memset(state, 0, state_bytes_); }

template <int width>
void TreeVotes::add_dense(std::span<const int32_t> leaves, void* state) const {
  auto* sums = static_cast<double*>(state);
  auto& votes = *reinterpret_cast<uint64_t*>(sums + width);
  double local[width];
  for (int k = 0; k < width; ++k) local[k] = sums[k];
  uint64_t voted = votes;
  for (const int32_t leaf : leaves) {
    const double* weights = weights_.data() + static_cast<size_t>(leaf) * width;
    for (int k = 0; k < width; ++k) local[k] += weights[k];
    voted |= voted_[static_cast<size_t>(leaf)];
  }
  for (int k = 0; k < width; ++k) sums[k] = local[k];
  votes = voted;
}

void TreeVotes::add(std::span<const int32_t> leaves, void* state) const {
  switch (width_) {
    case 1:
      return add_dense<1>(leaves, state);
    case 2:
      return add_dense<2>(leaves, state);
    case 4:
      return add_dense<4>(leaves, state);
    case 8:
      return add_dense<8>(leaves, state);
    default:
      break;
  }
  auto* scores = static_cast<ir::TreeScore*>(state);
  for (const int32_t number : leaves) {
    if (number == static_cast<int32_t>(ensemble_.leaves.size())) continue;
    const ir::TreeEnsemble::Leaf& leaf = ensemble_.leaves[static_cast<size_t>(number)];
    for (int32_t k = leaf.first; k < leaf.last; ++k) {
      const ir::TreeEnsemble::Vote& given = ensemble_.votes[static_cast<size_t>(k)];
      vote(ensemble_.aggregate, given, scores[given.target]);
    }
  }
}

void TreeVotes::scores(const void* state, std::span<ir::TreeScore> scores) const {
  if (width_ == 0) {
    std::memcpy(scores.data(), state, state_bytes_);
    return;
  }
  const auto* sums = static_cast<const double*>(state);
  uint64_t voted = 0;
  std::memcpy(&voted, sums + width_, sizeof voted);
  for (size_t k = 0; k < scores.size(); ++k) scores[k] = {sums[k], ((voted >> k) & 1) != 0};
}

}  // namespace axrun::runtime
