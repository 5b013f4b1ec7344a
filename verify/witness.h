#pragma once

#include <map>
#include <utility>
#include <vector>

#include "verify/terms.h"

namespace axrun::verify {

/// A guess, to be checked by whoever uses it: values of the unknowns (each a multiple of its step) at which
/// the left sides equal the right sides, found by reading `12*t + v = x` as t = x / 12, v = x mod 12, and
/// `t / 12 = x, t mod 12 = y` as t = 12*x + y. Unknowns that no equation determines are absent. The right
/// sides must not mention unknowns.
std::map<Term, Term> solve(Terms& terms, const std::map<Term, int64_t>& steps,
                           std::vector<std::pair<Term, Term>> equations);

}  // namespace axrun::verify
