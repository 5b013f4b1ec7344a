#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace axrun::ort {

struct Refusal {
  std::string output;  ///< the first one's name of the node, in the graph that was asked about
  std::string reason;
};

/// The nodes of an imported graph whose operator's definition refuses them (an attribute that axrun lacks,
/// shapes that do not fit), bodies included. Large constants are not looked at, and are gone from the graph
/// afterwards.
std::vector<Refusal> refused_nodes(ir::Graph& graph);

}  // namespace axrun::ort
