#pragma once

#include <optional>
#include <vector>

#include "search/piece.h"
#include "search/windows_form.h"

namespace axrun::search {

/// A map, and windows that move over what it gives: one plane at a time, which stays in the nearest caches.
struct MappedWindowsForm {
  size_t map = 0;                ///< its stage
  std::vector<size_t> prepared;  ///< stages between both, the same in every run
  WindowsForm windows;
  ir::TensorId between = ir::none;
  /// Dimensions of what lies between along which windows do not move, and the axes of the windows that these
  /// are, from the outside in.
  struct Shared {
    size_t dimension = 0;
    int axis = ir::none;
  };
  std::vector<Shared> shared;
};

/// Of a map, of what is prepared, and of windows, where they have it. all: without what follows the windows.
std::optional<MappedWindowsForm> find_mapped_windows(const ir::Program& program, const SizeFacts& facts,
                                                     const WindowsForm& windows, Range all);

void write_mapped_windows(PieceContext& context, const MappedWindowsForm& form);

}  // namespace axrun::search
