#pragma once

#include <cstdint>

namespace axrun::runtime {

/// A question of a decision tree with at most 32 leaves. Leaves are numbered from the tree's side for "yes"
/// to its side for "no"; who answers no does not arrive at any leaf that is under the question's "yes".
struct TreeQuestion {
  float threshold;  ///< yes: value <= threshold
  uint32_t kept;    ///< after a "no": a bit per leaf, 0 for those under "yes"
  int32_t column;   ///< of the value
};

/// All questions of a tree are asked, which needs no branch: a row arrives at the first leaf that is left.
///
/// Of trees [first, last), whose questions are [begins[t], begins[t + 1]): the leaves of the rows of one
/// block, as exits[t - first][row]. The block is columns[column][row].
using TreeExits = void (*)(const TreeQuestion* questions, const int32_t* begins, int64_t first, int64_t last,
                           const float* columns, int32_t* exits);

/// For the instruction-set level in force: how many rows a block has, and what is done with it.
struct TreeBlocks {
  int64_t rows;
  TreeExits exits;
};
TreeBlocks tree_blocks();
inline constexpr int64_t most_tree_block_rows = 16;

}  // namespace axrun::runtime
