#include "runtime/optimizer/twins.h"

#include <algorithm>
#include <map>

namespace axrun::runtime {
namespace {

class Finder {
 public:
  Finder(const Plan& plan, const ir::Graph& graph)
      : plan_(plan), graph_(graph), readers_(graph.values.size()) {
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
      const ir::Node& node = graph.nodes[n];
      if (!node.rewritten) places_.emplace(node.outputs, static_cast<int>(n));
      for (const ir::ValueId id : ir::reads_of(node))
        readers_[static_cast<size_t>(id)].push_back(static_cast<int>(n));
    }
  }

  std::vector<Twins> find() const {
    std::vector<Twins> found;
    for (const Step& step : plan_.steps()) {
      std::vector<int> others;
      for (const int n : step.work->nodes)
        others.push_back(twin_of(plan_.graph().nodes[static_cast<size_t>(n)]));
      const bool all = std::none_of(others.begin(), others.end(), [](int n) { return n < 0; });
      if (others.empty() || !all || !std::is_sorted(others.begin(), others.end())) continue;
      if (gives_the_same(step, others)) found.push_back({step.work->nodes, std::move(others)});
    }
    return found;
  }

 private:
  int twin_of(const ir::Node& node) const {
    const auto found = places_.find(node.outputs);
    if (found == places_.end()) return -1;
    const ir::Node& other = graph_.nodes[static_cast<size_t>(found->second)];
    const bool same = other.op == node.op && other.inputs == node.inputs && other.name == node.name;
    return same ? found->second : -1;
  }

  bool gives_the_same(const Step& step, const std::vector<int>& others) const {
    return std::all_of(others.begin(), others.end(), [&](int n) {
      const std::vector<ir::ValueId>& results = graph_.nodes[static_cast<size_t>(n)].outputs;
      return std::all_of(results.begin(), results.end(), [&](ir::ValueId id) {
        const bool given =
            std::find(step.work->outputs.begin(), step.work->outputs.end(), id) != step.work->outputs.end();
        return id == ir::absent || given == is_read_outside(id, others);
      });
    });
  }

  bool is_read_outside(ir::ValueId id, const std::vector<int>& nodes) const {
    const std::vector<int>& all = readers_[static_cast<size_t>(id)];
    const std::vector<ir::ValueId>& outputs = graph_.outputs;
    return std::find(outputs.begin(), outputs.end(), id) != outputs.end() ||
           std::any_of(all.begin(), all.end(), [&](int reader) {
             return std::find(nodes.begin(), nodes.end(), reader) == nodes.end();
           });
  }

  const Plan& plan_;
  const ir::Graph& graph_;
  std::map<std::vector<ir::ValueId>, int> places_;  ///< by results: conversions have their step's name
  std::vector<std::vector<int>> readers_;           ///< nodes, by value
};

}  // namespace

std::vector<Twins> twins_in(const Plan& plan, const ir::Graph& graph) { return Finder(plan, graph).find(); }

}  // namespace axrun::runtime
