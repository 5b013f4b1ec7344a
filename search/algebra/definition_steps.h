#pragma once

#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// The term with operators that reduce taken apart along their definitions: reductions over one set of axes
/// each (ReduceSum, ReduceMax, ReduceMin, which keep the dims) and elementwise operators. Products and what a
/// definition says in another way stay as they are. What is said is read off the expressions, and believed by
/// nobody. no_term where that is not defined.
TermId in_steps(Terms& terms, TermId id);

}  // namespace axrun::search::algebra
