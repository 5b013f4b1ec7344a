#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace axrun::ort {

/// Constants of more bytes are weights: no shape depends on them, and evaluating with them takes long.
inline constexpr std::size_t looked_at_bytes = std::size_t{1} << 16;

struct Refusal {
  std::string output;  ///< the first one's name of the node, in the graph that was asked about
  std::string reason;
};

/// The nodes of an imported graph whose operator's definition refuses them (an attribute that axrun lacks,
/// shapes that do not fit), bodies included. Constants of more than looked_at_bytes are gone from the graph
/// afterwards.
std::vector<Refusal> refused_nodes(ir::Graph& graph);

}  // namespace axrun::ort
