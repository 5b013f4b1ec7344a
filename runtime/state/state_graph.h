#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "runtime/session.h"

namespace axrun::runtime {

/// How a value of a state gets from one run to the next.
struct StateFeed {
  size_t output = 0, input = 0;  ///< of the model, by position
  std::optional<size_t> grows;   ///< the axis along which runs make it longer
  std::optional<size_t> buffer;  ///< input of the graph that is its memory; none: runs make a new value
  std::optional<size_t> length;  ///< with a buffer: output of the graph that says how much is in it
};

/// A graph that computes what the model does, for values that are kept in a state.
///
/// Where an output joins its input and something new, which is what caches of keys and values do, the graph
/// takes a buffer that is longer than the value along that axis (as long in all buffers), and gives that
/// buffer with the new elements behind the old ones: with the same memory for both, nothing else is written.
/// The input is then taken for its shape only. Inputs and outputs have the model's positions; what is new
/// comes after them. With an output of the model that has a buffer, that is the output.
struct StateGraph {
  std::shared_ptr<ir::Graph> graph;
  std::vector<StateFeed> feeds;
};

/// inputs, outputs: what is known of the graph's. feeds: pairs of an output and an input, by position, each
/// at most once. Throws Error(user) where the one cannot be the other.
StateGraph make_state_graph(const ir::Graph& graph, const std::vector<Port>& inputs,
                            const std::vector<Port>& outputs,
                            const std::vector<std::pair<size_t, size_t>>& feeds);

}  // namespace axrun::runtime
