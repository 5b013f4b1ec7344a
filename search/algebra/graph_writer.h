#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "search/algebra/model_terms.h"
#include "search/algebra/saturation.h"

namespace axrun::search::algebra {

/// A copy of a graph whose windows are replaced one by one. After each the graph is in order again.
class GraphWriter {
 public:
  /// terms: of this graph.
  GraphWriter(const ir::Graph& graph, const ModelTerms& terms);

  /// Values of the term; empty where the graph has none.
  const std::vector<ir::ValueId>& values_of(TermId term) const;
  /// Makes the window's roots what the improvement says. False, and nothing has changed, where that cannot be
  /// said in nodes, or would have values depend on themselves.
  bool replace(const Window& window, const Improvement& improvement);
  std::shared_ptr<ir::Graph> graph() const { return graph_; }

 private:
  const ModelTerms& terms_;
  std::shared_ptr<ir::Graph> graph_;
  std::map<TermId, std::vector<ir::ValueId>> values_;
  int made_ = 0;  ///< nodes so far: their names are numbered
};

}  // namespace axrun::search::algebra
