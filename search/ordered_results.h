#pragma once

#include "ir/program.h"

namespace axrun::search {

/// Chains with windows whose result lies channels-last: what passes between their stages lies so, too. Where
/// the result of a reduction (with the map after it) is not in the order of its axes, dims of what it reads
/// from earlier stages follow that order, those that are summed over last. Not where windows read an operand
/// in another order. For programs whose axes are merged.
ir::Program order_results(const ir::Program& program);

}  // namespace axrun::search
