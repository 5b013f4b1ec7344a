#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "search/algebra/saturation.h"

namespace axrun::search::algebra {

/// What a window of a graph becomes, to be kept and done again: the same nodes are made of the same recipe,
/// whenever that is.
struct WindowRecipe {
  /// The terms of both sides, one a line and numbered from 0, arguments first; then the roots that change.
  std::string text;
  /// Of the terms, by number: values that the graph has already; ir::absent for what is computed anew.
  std::vector<ir::ValueId> values;
  std::vector<std::vector<ir::ValueId>> roots;  ///< the values of each root that changes
};

/// from[k] becomes to[k], whose values are roots[k]. value_of: what the graph has of a term, or ir::absent.
WindowRecipe recipe_of(const Terms& terms, const std::vector<TermId>& from, const std::vector<TermId>& to,
                       const std::vector<std::vector<ir::ValueId>>& roots,
                       const std::function<ir::ValueId(TermId)>& value_of);

/// Both sides of a recipe's text.
struct WindowSides {
  std::vector<TermId> numbered;  ///< its terms, by number
  std::vector<TermId> from, to;
};
/// Throws Error(user) for a text that makes no sense.
WindowSides parse_window(std::string_view text, Terms& terms);

/// Whether rules lead from one side of a recipe's text to the other, safely, with an explanation that
/// replays: all that is needed for the sides to be equal is that these rules hold. Throws Error(user) as
/// parse_window.
bool follows_from(std::string_view text, const std::vector<std::shared_ptr<const Rule>>& rules,
                  const SaturationOptions& options = {});

}  // namespace axrun::search::algebra
