#pragma once

#include <vector>

#include "search/algebra/egraph.h"

namespace axrun::search::algebra {

/// Terms of the graph that a side of a rule stands for, and the values of its variables and sizes.
struct Match {
  std::vector<TermId> roots;  ///< of the side's roots, in order
  Substitution substitution;
  SizeValues sizes;
  std::vector<TermId> rest;  ///< of a sum of which the root is some of the terms only: its others
};

/// Where the left side (or the right one) of the rule is found; at most so many. May add terms: sums of some
/// of the terms of a sum.
std::vector<Match> find_matches(EGraph& graph, const Rule& rule, bool left, size_t most);

}  // namespace axrun::search::algebra
