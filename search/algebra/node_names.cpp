#include "search/algebra/node_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace axrun::search::algebra {

using ir::Node;

void NodeNames::add_window(const std::vector<Node>& replaced, const std::vector<Node>& made) {
  std::vector<Node> of_model;
  for (const Node& node : replaced) {
    const auto before = window_of_.find(node.name);
    if (!node.rewritten || before == window_of_.end()) {
      of_model.push_back(node);
      continue;
    }
    const std::vector<Node>& its = replaced_[before->second];
    of_model.insert(of_model.end(), its.begin(), its.end());
  }
  for (const Node& node : made) window_of_.emplace(node.name, replaced_.size());
  replaced_.push_back(std::move(of_model));
}

void NodeNames::give_to(ir::Graph& graph) const {
  // Conversions of a step's layouts have its name as well: nodes that stay keep theirs for their operator
  // only.
  std::set<std::pair<std::string, std::string>> kept;
  std::set<std::string> given;
  std::vector<Node*> nameless;
  for (Node& node : graph.nodes) {
    if (node.rewritten) {
      nameless.push_back(&node);
    } else {
      kept.emplace(node.name, node.op);
    }
  }
  const auto replaced_by = [&](const Node& node) -> const std::vector<Node>& {
    return replaced_[window_of_.at(node.name)];
  };
  const auto name_after = [&](auto is_same) {
    std::erase_if(nameless, [&](Node* node) {
      const std::vector<Node>& all = replaced_by(*node);
      const auto same = std::find_if(all.begin(), all.end(), [&](const Node& other) {
        return kept.count({other.name, other.op}) == 0 && given.count(other.name) == 0 &&
               is_same(*node, other);
      });
      if (same == all.end()) return false;
      node->name = same->name;
      return given.insert(node->name).second;
    });
  };
  name_after(
      [](const Node& made, const Node& old) { return made.op == old.op && made.domain == old.domain; });
  name_after([](const Node& made, const Node& old) { return made.outputs == old.outputs; });
  for (const auto& [name, op] : kept) given.insert(name);
  size_t number = 0;
  for (Node* node : nameless) {
    const std::vector<Node>& all = replaced_by(*node);
    const std::string stem = all.empty() ? std::string() : all.back().name;
    do {
      node->name = fmt::format("{}:algebra{}", stem, number++);
    } while (!given.insert(node->name).second);
  }
}

}  // namespace axrun::search::algebra
