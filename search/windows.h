#pragma once

#include "search/windows_plan.h"

namespace axrun::search {

/// Writes a reduction over windows and its epilogue: tiles of the result are accumulated in registers, tap by
/// tap.
void write_windows(PieceContext& context, const WindowsForm& form, const WindowsPlan& plan);

}  // namespace axrun::search
