#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/lower_scheduled.h"
#include "search/lowering.h"
#include "search/pieces.h"

namespace axrun::search {

/// One flag per tensor: whether it is the same in every run, and not inside of loops over anything but sizes.
std::vector<bool> constant_tensors(const ir::Program& program, const std::vector<bool>& constant_operands,
                                   const Sizes& sizes);

/// The schedule of one piece, by its rank; all others get their default ones.
struct ChosenSchedule {
  size_t piece = 0, rank = 0;
  const GivenSchedule* given = nullptr;  ///< instead of a rank
};

/// Writes the pieces of the context's program one after another, with memory for what passes between them.
/// What is the same in every run stands at the beginning. Operands must have their places or buffers.
/// Nothing where the piece has no schedule of this rank.
std::optional<ScheduleReport> write_pieces(PieceContext& context, const Pieces& pieces,
                                           const ChosenSchedule& chosen = {});

/// "contraction+map", ...; of a recurrence with its step: "recurrence(contraction+map)".
std::string kind_of(const ir::Program& program, const Pieces& pieces, const SizeFacts& facts,
                    const std::vector<bool>& constant, const jit::Target& target);

}  // namespace axrun::search
