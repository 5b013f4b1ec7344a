#pragma once

#include <functional>
#include <vector>

#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// A sum or a product, of any number of terms.
bool is_sum(const Terms& terms, TermId id);
/// Neither that nor a movement of elements: its operands mean different things.
bool is_product(const Terms& terms, TermId id);

/// Operands that products below several terms of a sum read, moved or not, and between which and the sum
/// there are few operations: these, in order, for each of them. is_wanted: of operations that may be among
/// them.
std::vector<std::vector<TermId>> between_sum_and_operands(const Terms& terms, TermId sum,
                                                          const std::function<bool(TermId)>& is_wanted);

}  // namespace axrun::search::algebra
