#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "search/algebra/model_terms.h"
#include "search/algebra/saturation.h"
#include "search/algebra/window_recipe.h"

namespace axrun::search::algebra {

/// The graph with the windows of all recipes replaced: ordinary nodes, in order, without what nobody needs.
/// New ones are `rewritten` and have names of what they are there for (node_names.h).
/// Null where the recipes do not fit it. Throws Error(user) for texts that make no sense.
std::shared_ptr<ir::Graph> rewritten(const ir::Graph& graph, const std::vector<WindowRecipe>& recipes);

/// Finds recipes that fit together.
class GraphWriter {
 public:
  /// terms: of this graph.
  GraphWriter(const ir::Graph& graph, const ModelTerms& terms);

  /// Values of the term; empty where the graph has none.
  const std::vector<ir::ValueId>& values_of(TermId term) const;
  /// Makes the window's roots what the improvement says. False, and nothing has changed, where that cannot be
  /// said in nodes, or would have values depend on themselves.
  bool replace(const Window& window, const Improvement& improvement);
  const std::vector<WindowRecipe>& recipes() const { return recipes_; }

 private:
  const ModelTerms& terms_;
  ir::Graph graph_;  ///< with what nobody needs any more, and in no order
  std::map<TermId, std::vector<ir::ValueId>> values_;
  std::vector<WindowRecipe> recipes_;
  Terms::Definitions known_operations_;
  int made_ = 0;  ///< nodes so far: their names are numbered
};

}  // namespace axrun::search::algebra
