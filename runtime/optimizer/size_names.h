#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace axrun::runtime {

/// Of dim = factor * name + rest, where it is that; the factor is not 0.
struct LinearPart {
  int64_t factor;
  ir::Dim rest;
};
std::optional<LinearPart> linear_in(const ir::Dim& dim, const std::string& name);

/// Renames the sizes of a program in order of appearance in the dims of its operands, then of its outputs:
/// "n0", "n1", ... Sums that these have alone become sizes of their own: with operands [past + seq] and
/// nothing else, past + seq is one size. The new names.
std::vector<std::string> name_sizes(ir::Program& program);

/// Makes the dims of operands and outputs linear where quotients are in the way. What a stride leaves of a
/// size, (w - 1) / 2 + 1, becomes a size of its own; where the dims have w itself too, it is twice that plus
/// a remainder, which becomes a size as well. What two sizes that come of one are to each other is forgotten
/// where that cannot be said: a program that is right for all sizes is right for those.
void name_quotients(ir::Program& program);

/// Some dim of the program has a size that is not among these: only data tell it.
bool has_other_sizes(const ir::Program& program, const std::vector<std::string>& symbols);

}  // namespace axrun::runtime
