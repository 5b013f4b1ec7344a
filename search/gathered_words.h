#pragma once

#include <string>
#include <vector>

#include "search/gathered_form.h"
#include "search/piece.h"

namespace axrun::search {

/// Convolutions of small integers, in i32: sums of products of constant words and words of lines, as many
/// for the first axis of the sum as make pairs. Lines are gathered in pairs along that axis, so that
/// processors multiply and add a pair at a time. Every product is exact; sums wrap as i32 does, in any order.
FoundGathered find_gathered_words(const ir::Program& program, const ir::Stage& sum, const ir::Stage* epilogue,
                                  const std::vector<bool>& constant);

void write_gathered_words(PieceContext& context, const GatheredForm& form);

}  // namespace axrun::search
