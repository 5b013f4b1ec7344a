#include "runtime/operators/tree_masks.h"

#include <unordered_map>

namespace axrun::runtime {
namespace {

constexpr size_t most_leaves = 32;

// Processor cycles, as measured on Zen 5: of a step of a walk (several at once), of a question put to a block
// of rows, and of finding the leaves of one tree then.
constexpr double step_cycles = 2.5, question_cycles = 1.5, tree_cycles = 10;

}  // namespace

class TreeMasks::Builder {
 public:
  Builder(const TreeLayout<float>& layout, TreeMasks& masks) : layout_(layout), masks_(masks) {}

  /// False for too many leaves.
  bool add(int64_t tree) {
    masks_.begins_.push_back(static_cast<int32_t>(masks_.questions_.size()));
    masks_.first_leaves_.push_back(static_cast<int32_t>(masks_.leaf_numbers_.size()));
    return visit(layout_.root(tree), 0);
  }

 private:
  size_t leaves() const {
    return masks_.leaf_numbers_.size() - static_cast<size_t>(masks_.first_leaves_.back());
  }

  /// Nodes with several parents are there several times. Below n questions there are at least n + 1 leaves.
  bool visit(uint32_t word, size_t depth) {
    if (layout_.leaf(word) >= 0) {
      masks_.leaf_numbers_.push_back(layout_.leaf(word));
      return leaves() <= most_leaves;
    }
    if (depth + 1 == most_leaves) return false;
    const auto& node = layout_.node(word);
    const size_t number = masks_.questions_.size();
    masks_.questions_.push_back({node.threshold, 0, column_of(node.feature)});
    const size_t first = leaves();
    if (!visit(node.next[0], depth + 1)) return false;
    const auto under_yes = ((uint64_t{1} << leaves()) - 1) & ~((uint64_t{1} << first) - 1);
    masks_.questions_[number].kept = ~static_cast<uint32_t>(under_yes);
    return visit(node.next[1], depth + 1);
  }

  int32_t column_of(int32_t feature) {
    const auto [found, is_new] = columns_.emplace(feature, static_cast<int32_t>(masks_.features_.size()));
    if (is_new) masks_.features_.push_back(feature);
    return found->second;
  }

  const TreeLayout<float>& layout_;
  TreeMasks& masks_;
  std::unordered_map<int32_t, int32_t> columns_;
};

std::unique_ptr<const TreeMasks> TreeMasks::of(const TreeLayout<float>& layout, int64_t trees, int64_t rows) {
  auto masks = std::make_unique<TreeMasks>();
  masks->blocks_ = tree_blocks();
  const double walked = static_cast<double>(rows * layout.steps()) * step_cycles;
  const auto blocks = static_cast<double>((rows + masks->blocks_.rows - 1) / masks->blocks_.rows);
  Builder builder(layout, *masks);
  for (int64_t tree = 0; tree < trees; ++tree) {
    const double asked = static_cast<double>(masks->questions_.size()) * question_cycles +
                         static_cast<double>(tree) * tree_cycles;
    if (blocks * asked > walked || !builder.add(tree)) return nullptr;
  }
  masks->begins_.push_back(static_cast<int32_t>(masks->questions_.size()));
  return masks;
}

void TreeMasks::leaves(int64_t first, int64_t last, const float* columns, int64_t rows,
                       int32_t* leaves) const {
  int32_t exits[most_trees * most_tree_block_rows];
  blocks_.exits(questions_.data(), begins_.data(), first, last, columns, exits);
  const int32_t* firsts = first_leaves_.data() + first;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t k = 0; k < last - first; ++k) {
      leaves[row * most_trees + k] =
          leaf_numbers_[static_cast<size_t>(firsts[k] + exits[k * blocks_.rows + row])];
    }
  }
}

}  // namespace axrun::runtime
