#pragma once

#include <vector>

#include "ir/program.h"
#include "jit/target.h"
#include "search/size_facts.h"

namespace axrun::search {

/// Sums of products over few positions, lines of which lie in memory as GatheredForm says, become two stages:
/// a map gathers the right side into a matrix [terms, positions], and the sum is a product of matrices, which
/// is computed with channels next to each other (`turned`). A convolution to 7x7 positions fills 49 of 64
/// lanes otherwise. For programs whose axes are merged.
/// Not where lines are computed with channels next to each other as they are gathered (`gathered_across`).
ir::Program matrices_of_lines(const ir::Program& program, const SizeFacts& facts,
                              const std::vector<bool>& constant, const jit::Target& target);

}  // namespace axrun::search
