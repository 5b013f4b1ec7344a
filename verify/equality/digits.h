#pragma once

#include <map>
#include <utility>
#include <vector>

#include "verify/terms.h"

namespace axrun::verify::equality {

/// As solve (verify/witness.h), for digits of sizes as well: `c*d*i + d*j + k = x` is read as i = x / (c*d),
/// j = (x - c*d*i) / d, and k is the rest. A guess, to be checked.
std::map<Term, Term> solve_digits(Terms& terms, const TermList& variables,
                                  const std::vector<std::pair<Term, Term>>& equations);

/// Appends the factors of a product, or a term that is none.
void collect_factors(const Terms& terms, Term term, TermList& factors);

}  // namespace axrun::verify::equality
