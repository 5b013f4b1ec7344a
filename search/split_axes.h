#pragma once

#include "ir/program.h"

namespace axrun::search {

/// Sums of products whose results have several axes in one dimension get a dimension for every axis, where a
/// single map reads them element by element: its axes are split alike. So the map can finish each element
/// where it has been summed up (`match_epilogue`). A transposed convolution that moves by 2 is such a sum:
/// its result's dimensions are position and phase.
ir::Program split_axes(const ir::Program& program);

}  // namespace axrun::search
