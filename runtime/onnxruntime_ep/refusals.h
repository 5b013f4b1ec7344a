#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace axrun::ort {

/// The nodes of an imported graph whose operator's definition refuses them (an attribute that axrun lacks,
/// shapes that do not fit), bodies included, each by the name of its first output in `graph`. Large constants
/// are not looked at, and are gone from the graph afterwards.
std::vector<std::string> refused_nodes(ir::Graph& graph);

}  // namespace axrun::ort
