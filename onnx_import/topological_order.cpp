#include "onnx_import/topological_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "onnx_import/names.h"

namespace axrun::onnx_import {
namespace {

constexpr size_t no_node = SIZE_MAX;

/// The node that computes each value.
std::vector<size_t> producers_of(const ir::Graph& graph) {
  std::vector<size_t> producers(graph.values.size(), no_node);
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    for (const ir::ValueId id : graph.nodes[node].outputs) {
      if (id != ir::absent) producers[static_cast<size_t>(id)] = node;
    }
  }
  return producers;
}

/// The nodes that compute what this one reads.
std::vector<size_t> dependencies_of(const ir::Node& node, const std::vector<size_t>& producers) {
  std::vector<size_t> dependencies;
  for (const ir::ValueId id : ir::reads_of(node)) {
    const size_t producer = producers[static_cast<size_t>(id)];
    if (producer != no_node) dependencies.push_back(producer);
  }
  return dependencies;
}

bool is_sorted(const ir::Graph& graph, const std::vector<size_t>& producers) {
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    for (const ir::ValueId id : ir::reads_of(graph.nodes[node])) {
      const size_t producer = producers[static_cast<size_t>(id)];
      if (producer != no_node && producer >= node) return false;
    }
  }
  return true;
}

/// Every node that is left waits for another one that is left: walking along must close a circle.
[[noreturn]] void throw_cycle(const ir::Graph& graph, const std::vector<std::vector<size_t>>& dependencies,
                              const std::vector<bool>& done) {
  size_t node = static_cast<size_t>(std::find(done.begin(), done.end(), false) - done.begin());
  std::vector<size_t> path;
  std::vector<bool> on_path(done.size(), false);
  while (!on_path[node]) {
    on_path[node] = true;
    path.push_back(node);
    node = *std::find_if(dependencies[node].begin(), dependencies[node].end(),
                         [&](size_t d) { return !done[d]; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), node));
  constexpr size_t shown = 10;
  std::string text;
  for (size_t k = 0; k < std::min(path.size(), shown); ++k) {
    text += fmt::format("{} {} needs ", graph.nodes[path[k]].op, in_quotes(graph.nodes[path[k]].name));
  }
  if (path.size() > shown) text += fmt::format("({} more) ", path.size() - shown);
  throw Error(Fault::model, fmt::format("graph {} has a cycle: {}{} {}", in_quotes(graph.name), text,
                                        graph.nodes[node].op, in_quotes(graph.nodes[node].name)));
}

}  // namespace

void sort_nodes(ir::Graph& graph) {
  const std::vector<size_t> producers = producers_of(graph);
  if (is_sorted(graph, producers)) return;
  std::vector<std::vector<size_t>> dependencies;
  for (const ir::Node& node : graph.nodes) dependencies.push_back(dependencies_of(node, producers));

  std::vector<size_t> waits_for(graph.nodes.size());
  std::vector<std::vector<size_t>> users(graph.nodes.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    waits_for[node] = dependencies[node].size();
    for (const size_t dependency : dependencies[node]) users[dependency].push_back(node);
    if (waits_for[node] == 0) ready.push(node);
  }
  std::vector<bool> done(graph.nodes.size(), false);
  std::vector<ir::Node> order;
  order.reserve(graph.nodes.size());
  std::vector<size_t> positions;
  while (!ready.empty()) {
    const size_t node = ready.top();
    ready.pop();
    done[node] = true;
    positions.push_back(node);
    for (const size_t user : users[node]) {
      if (--waits_for[user] == 0) ready.push(user);
    }
  }
  if (positions.size() != graph.nodes.size()) throw_cycle(graph, dependencies, done);
  for (const size_t node : positions) order.push_back(std::move(graph.nodes[node]));
  graph.nodes = std::move(order);
}

}  // namespace axrun::onnx_import
