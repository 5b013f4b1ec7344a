#include "runtime/operators/tree_layout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace axrun::runtime {
namespace {

using Mode = ir::TreeEnsemble::Mode;

/// The largest number of type T that is <= t. NaN for NaN.
template <typename T>
T at_most(double t) {
  const T rounded = static_cast<T>(t);
  return static_cast<double>(rounded) > t ? std::nextafter(rounded, -std::numeric_limits<T>::infinity())
                                          : rounded;
}

/// The largest number of type T that is < t; NaN where there is none, and for NaN.
template <typename T>
T below(double t) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  const T rounded = static_cast<T>(t);
  if (!(static_cast<double>(rounded) >= t)) return rounded;
  return rounded == lowest ? std::numeric_limits<T>::quiet_NaN() : std::nextafter(rounded, lowest);
}

}  // namespace

/// Lays out nodes as they are reached. A child's position is known before it is written.
template <typename T>
class TreeLayout<T>::Builder {
 public:
  Builder(const ir::TreeEnsemble& ensemble, int64_t features, TreeLayout& layout)
      : ensemble_(ensemble),
        features_(static_cast<int32_t>(features)),
        layout_(layout),
        node_at_(ensemble.nodes.size(), unplaced),
        leaf_at_(ensemble.leaves.size() + 1, unplaced) {}

  void build() {
    for (int32_t root : ensemble_.roots) {
      layout_.roots_.push_back(position_of(root));
      while (first_waiting_ < waiting_.size()) {
        const int32_t number = waiting_[first_waiting_++];
        write(ensemble_.nodes[static_cast<size_t>(number)], node_at_[static_cast<size_t>(number)]);
      }
      waiting_.clear();
      first_waiting_ = 0;
    }
    const auto no_votes = ~static_cast<int32_t>(ensemble_.leaves.size());
    while (layout_.roots_.size() % lanes != 0) layout_.roots_.push_back(position_of(no_votes));
    find_depths();
    for (Node& node : layout_.nodes_) {
      for (uint32_t& next : node.next) next *= node_words;
    }
    for (uint32_t& root : layout_.roots_) root *= node_words;
  }

 private:
  static constexpr uint32_t unplaced = ~uint32_t{0};

  uint32_t place() {
    layout_.nodes_.push_back({{0, 0}, 0, T(0)});
    layout_.leaf_at_.push_back(-1);
    return static_cast<uint32_t>(layout_.nodes_.size() - 1);
  }

  /// Of a node, or of ~number of a leaf. Nodes that are met for the first time wait to be written.
  uint32_t position_of(int32_t child) {
    if (child >= 0) {
      uint32_t& at = node_at_[static_cast<size_t>(child)];
      if (at == unplaced) {
        at = place();
        waiting_.push_back(child);
      }
      return at;
    }
    uint32_t& at = leaf_at_[static_cast<size_t>(~child)];
    if (at == unplaced) {
      at = place();
      layout_.nodes_[at].next[0] = layout_.nodes_[at].next[1] = at;
      layout_.leaf_at_[at] = ~child;
    }
    return at;
  }

  void ask(uint32_t at, int32_t feature, T threshold, uint32_t yes, uint32_t no) {
    layout_.nodes_[at] = {{yes, no}, feature, threshold};
  }

  /// value <= threshold (or < for the number below it) ? yes : no, where NaN goes where it is told.
  void compare(uint32_t at, int32_t feature, T threshold, uint32_t yes, uint32_t no, bool nan_is_yes) {
    if (!nan_is_yes) return ask(at, feature, threshold, yes, no);
    // No number is <= NaN: only NaN goes to `yes`.
    if (std::isnan(threshold)) return ask(at, feature, std::numeric_limits<T>::infinity(), no, yes);
    layout_.reads_copies_ = true;
    ask(at, features_ + feature, threshold, yes, no);
  }

  /// value == threshold ? yes : no, NaN to `no`.
  void equal(uint32_t at, int32_t feature, double threshold, uint32_t yes, uint32_t no) {
    const uint32_t second = place();
    ask(at, feature, at_most<T>(threshold), second, no);
    ask(second, feature, below<T>(threshold), no, yes);
  }

  void member(uint32_t at, int32_t feature, std::span<const double> set, uint32_t yes, uint32_t no) {
    if (set.empty()) return ask(at, feature, T(0), no, no);
    if (set.size() == 1) return equal(at, feature, set[0], yes, no);
    const size_t half = set.size() / 2;
    const uint32_t low = place(), high = place();
    ask(at, feature, at_most<T>(set[half - 1]), low, high);
    member(low, feature, set.first(half), yes, no);
    member(high, feature, set.subspan(half), yes, no);
  }

  void write(const ir::TreeEnsemble::Node& node, uint32_t at) {
    const uint32_t yes = position_of(node.if_true), no = position_of(node.if_false);
    const double t = node.threshold;
    const bool missing = node.missing_is_true;
    switch (node.mode) {
      case Mode::less_equal:
        return compare(at, node.feature, at_most<T>(t), yes, no, missing);
      case Mode::less:
        return compare(at, node.feature, below<T>(t), yes, no, missing);
      case Mode::greater_equal:
      case Mode::greater: {
        // Every number is on the other side of NaN.
        const T bound = std::isnan(t)                ? std::numeric_limits<T>::infinity()
                        : node.mode == Mode::greater ? at_most<T>(t)
                                                     : below<T>(t);
        return compare(at, node.feature, bound, no, yes, !missing);
      }
      case Mode::not_equal:
        return equal(at, node.feature, t, no, yes);
      case Mode::equal:
      case Mode::member: {
        uint32_t question = at;
        if (missing) {
          question = place();
          ask(at, node.feature, std::numeric_limits<T>::infinity(), question, yes);
        }
        if (node.mode == Mode::equal) return equal(question, node.feature, t, yes, no);
        return member(question, node.feature, ensemble_.sets[static_cast<size_t>(node.set)], yes, no);
      }
    }
  }

  /// Of every group. Nodes may have several parents: heights are found once each, children first.
  void find_depths() {
    std::vector<int32_t> heights(layout_.nodes_.size(), -1), nearest(layout_.nodes_.size(), 0);
    std::vector<uint32_t> path;
    for (size_t k = 0; k < layout_.roots_.size(); ++k) {
      path.push_back(layout_.roots_[k]);
      while (!path.empty()) {
        const uint32_t at = path.back();
        const Node& node = layout_.nodes_[at];
        if (layout_.leaf_at_[at] >= 0) {
          heights[at] = 0;
        } else {
          const size_t waiting = path.size();
          for (uint32_t next : node.next) {
            if (heights[next] < 0) path.push_back(next);
          }
          if (path.size() != waiting) continue;
          heights[at] = 1 + std::max(heights[node.next[0]], heights[node.next[1]]);
          nearest[at] = 1 + std::min(nearest[node.next[0]], nearest[node.next[1]]);
        }
        path.pop_back();
      }
      if (k % lanes == 0) {
        layout_.depths_.push_back(0);
        layout_.least_.push_back(0);
      }
      layout_.depths_.back() = std::max(layout_.depths_.back(), heights[layout_.roots_[k]]);
      layout_.least_.back() = std::max(layout_.least_.back(), nearest[layout_.roots_[k]]);
    }
  }

  const ir::TreeEnsemble& ensemble_;
  int32_t features_;
  TreeLayout& layout_;
  std::vector<uint32_t> node_at_, leaf_at_;
  std::vector<int32_t> waiting_;
  size_t first_waiting_ = 0;
};

template <typename T>
std::unique_ptr<const TreeLayout<T>> TreeLayout<T>::of(const ir::TreeEnsemble& ensemble, int64_t features) {
  size_t most = 3 * ensemble.nodes.size() + ensemble.leaves.size() + 1;
  for (const auto& set : ensemble.sets) most += 4 * set.size();
  if (most >= std::numeric_limits<uint32_t>::max() / node_words ||
      features > std::numeric_limits<int32_t>::max() / 2) {
    return nullptr;
  }
  auto layout = std::make_unique<TreeLayout>();
  Builder(ensemble, features, *layout).build();
  return layout;
}

template <typename T>
int64_t TreeLayout<T>::steps() const {
  int64_t steps = 0;
  for (const int32_t depth : depths_) steps += int64_t{depth} * lanes;
  return steps;
}

template <typename T>
void TreeLayout<T>::walk(int64_t group, const T* row, int32_t* leaves) const {
  const char* base = reinterpret_cast<const char*>(nodes_.data());
  const uint32_t* roots = roots_.data() + group * lanes;
  uint32_t at[lanes];
#pragma GCC unroll 8
  for (int k = 0; k < lanes; ++k) at[k] = roots[k];
  const auto step = [&] {
#pragma GCC unroll 8
    for (int k = 0; k < lanes; ++k) {
      const Node& node = *reinterpret_cast<const Node*>(base + size_t{at[k]} * 8);
      at[k] = node.next[row[node.feature] <= node.threshold ? 0 : 1];
    }
  };
  const int32_t least = least_[static_cast<size_t>(group)];
  for (int32_t k = 0; k < least; ++k) step();
  // Few walks go all the way down a deep tree: from here on they are asked whether they still move.
  int32_t left = depths_[static_cast<size_t>(group)] - least;
  while (left > 2) {
    step();
    uint32_t before[lanes];
#pragma GCC unroll 8
    for (int k = 0; k < lanes; ++k) before[k] = at[k];
    step();
    uint32_t moved = 0;
#pragma GCC unroll 8
    for (int k = 0; k < lanes; ++k) moved |= before[k] ^ at[k];
    left = moved == 0 ? 0 : left - 2;
  }
  for (; left > 0; --left) step();
#pragma GCC unroll 8
  for (int k = 0; k < lanes; ++k) leaves[k] = leaf_at_[at[k] / node_words];
}

template class TreeLayout<float>;
template class TreeLayout<double>;

}  // namespace axrun::runtime
