#pragma once

#include "search/piece.h"
#include "search/planes_form.h"
#include "search/windows_form.h"

namespace axrun::search {

/// Every decision about planes side by side; the writer only reads it.
struct PlanesPlan {
  PlanesForm form;
  int64_t read_rows = 1;  ///< rows of the operand that are transposed at a time
  int64_t rows = 1;       ///< of the result, accumulated in registers
  /// The epilogue is worked out across planes, before the transposition: it reads nothing else within planes.
  bool finished_across = false;
  int spread_axis = ir::none;  ///< of the reduction, over workers: of its outer axes, or the planes'; none
  double cycles = 0;           ///< for a plane, roughly
};

/// Nothing where windows do not have this form, or would be too much code.
std::optional<PlanesPlan> plan_planes(const PieceContext& context, const WindowsForm& form);

/// Writes windows with lanes across planes: each block of planes is transposed in registers and back.
void write_planes(PieceContext& context, const WindowsForm& form, const PlanesPlan& plan);

}  // namespace axrun::search
