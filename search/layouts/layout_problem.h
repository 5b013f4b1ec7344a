#pragma once

#include <cstdint>
#include <vector>

#include "search/layouts/weighted_choice.h"

namespace axrun::search::layouts {

/// Layouts are numbers from 0, which is the plain one, the one in which values are when nothing was chosen. A
/// set of layouts is a mask of bits.
struct LayoutValue {
  /// The layouts in which it can be made; only the plain one where no node of the problem makes it.
  uint32_t made = 1;
  /// Those in which it must be there in the end: for results, and for readers that are no nodes of the
  /// problem.
  uint32_t wanted = 0;
  /// From every layout (rows) to every other one: what a copy costs. Infinite: there is none.
  std::vector<double> conversions;
};

/// A part of what a node costs, by the layouts in which it reads and makes these of its values: one price for
/// every combination, that of the last port varying fastest.
struct PriceTerm {
  std::vector<int> ports;  ///< positions among the inputs and then the outputs
  std::vector<double> prices;
};

/// What it costs is the sum of its terms. Every input is in one term, so that a node with many inputs whose
/// prices do not depend on one another has many small ones.
struct LayoutNode {
  std::vector<int> inputs;   ///< values
  std::vector<int> outputs;  ///< values; no two nodes make the same
  std::vector<PriceTerm> terms;
};

/// Nodes read and make values, each in one of several layouts, for a price; values can be converted.
struct LayoutProblem {
  int layouts = 2;
  std::vector<LayoutValue> values;
  std::vector<LayoutNode> nodes;
};

struct LayoutChoice {
  std::vector<int> made;                ///< per value: the layout in which it is made
  std::vector<uint32_t> there;          ///< per value: the layouts that are there, that one among them
  std::vector<std::vector<int>> reads;  ///< per node and input: the layout that is read
  double cost = 0;
  double plain_cost = 0;  ///< of everything in the plain layout
  double bound = 0;       ///< nothing costs less
  bool is_best = false;
  int64_t visits = 0;
};

/// A value is converted to one other layout at most, beside those that are wanted, from the one in which it
/// is made, once for all that read it.
LayoutChoice choose_layouts(const LayoutProblem& problem, const ChoiceLimits& limits = {});

}  // namespace axrun::search::layouts
