#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/optimizer_status.h"
#include "runtime/plan/fold_weights.h"
#include "search/algebra/window_recipe.h"

namespace axrun::runtime {

/// By what a model's graph is computed in another way, and why that is the same.
struct AlgebraRecipe {
  std::vector<search::algebra::WindowRecipe> windows;
  std::vector<std::string> rules;  ///< texts of all that the windows use (search::algebra::print)
  AlgebraReport report;            ///< whose windows are those above, in order
};

/// The graph with windows of it computed in another way: ordinary nodes, of which nothing is folded yet. Null
/// where the recipes do not fit. Throws where they make no sense, or nobody can say.
using MakeGraph = std::function<std::shared_ptr<ir::Graph>(
    const ir::Graph& from, const std::vector<search::algebra::WindowRecipe>& windows)>;

/// Such a graph in which what new nodes compute of constants alone is there already.
struct RewrittenGraph {
  std::shared_ptr<const ir::Graph> graph;  ///< null: there is none
  std::vector<FoldedNode> folded;
  bool takes_too_much = false;  ///< memory, for new constants
};
RewrittenGraph folded_graph(std::shared_ptr<ir::Graph> graph, ThreadPool& pool);

}  // namespace axrun::runtime
