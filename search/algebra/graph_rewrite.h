#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/infer.h"
#include "search/algebra/model_terms.h"
#include "search/algebra/window_recipe.h"

namespace axrun::search::algebra {

/// A window of a graph that is computed in another way.
struct RewrittenWindow {
  std::string text;                             ///< the steps, by rule names: see Improvement
  std::set<std::pair<std::string, bool>> uses;  ///< rules, and in which direction
  double before = 0, after = 0;                 ///< cost
  std::vector<ir::ValueId> values;              ///< whose nodes are other ones now
  WindowRecipe recipe;                          ///< by which it is done again
};

struct GraphRewriteOptions {
  TermCost cost;
  SaturationOptions saturation;
  int most_operations = 12;
  double least_gain = 5e-4;  ///< of a window, as a share of its cost
  /// How much it matters how these values are computed: of overlapping windows that one is computed otherwise
  /// which saves most of that; those of 0 are left out. None: all of them matter alike.
  std::function<double(const std::vector<ir::ValueId>& values)> weight;
  double least_weight = 0;  ///< of windows that are alike, together; those of less are left out
  /// Values that stay, and at which windows end; none: no such values.
  std::function<bool(ir::ValueId)> apart;
  ConstantContent content;      ///< as in ModelTerms
  std::function<bool()> go_on;  ///< asked before every window; none: always
};

struct GraphRewrite {
  std::shared_ptr<ir::Graph> graph;  ///< null: nothing would be cheaper
  std::vector<RewrittenWindow> windows;
  int looked_at = 0;  ///< windows
};

/// The graph with windows of it computed in the cheapest way that usable rules lead to: what `facts` are of,
/// whose sizes must be known. Values keep their numbers; new nodes are ordinary ones and have names of their
/// own. What new nodes compute of constants alone is not folded yet.
GraphRewrite rewrite_graph(const ir::Inference& facts, const std::vector<std::shared_ptr<const Rule>>& rules,
                           const GraphRewriteOptions& options);

}  // namespace axrun::search::algebra
