#pragma once

#include "ir/program.h"

namespace axrun::search {

/// Operands of windows over values that lie channels-last, or whose result does: those that vary along the
/// result's last axis, but are contiguous along another one (weights [channel, taps...]), are copied by maps
/// with that dimension last. So lanes run along channels (find_windows). Constant ones are copied once. For
/// programs whose axes are merged.
ir::Program turn_operands(const ir::Program& program);

}  // namespace axrun::search
