#pragma once

#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

// The parts of the indexing family.
void gathering_operators(std::vector<OperatorEntry>& table);
void scattering_operators(std::vector<OperatorEntry>& table);
void top_k_operators(std::vector<OperatorEntry>& table);

/// An index read from data, as i64; negative ones count from the end of a dimension of the given size.
Scalar from_end(const Scalar& index, const Dim& size);

}  // namespace axrun::ir
