#pragma once

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

/// The model's graph with windows of it computed in another way. What new nodes compute of constants alone is
/// there already.
struct RewrittenGraph {
  std::shared_ptr<const ir::Graph> graph;  ///< null where the recipes do not fit
  std::vector<FoldedNode> folded;
  bool takes_too_much = false;  ///< memory, for new constants
};
/// The same for the same graph and recipes, node by node. Throws Error where recipes make no sense.
RewrittenGraph rewritten_graph(const ir::Graph& model,
                               const std::vector<search::algebra::WindowRecipe>& windows, ThreadPool& pool);

}  // namespace axrun::runtime
