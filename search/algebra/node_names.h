#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace axrun::search::algebra {

/// Names for nodes that rewriting makes, so that reports and errors tell of the model's nodes: each has the
/// name of a node that it replaces, of the same operator if there is one, or else of the one that made its
/// result. What is made beside these has the name of the last node replaced with ":algebra" and a number.
class NodeNames {
 public:
  /// One window: the nodes that compute what is in it, in the graph's order, and those made for them, whose
  /// names are unique. The former may still be needed by others, and may be of windows before.
  void add_window(const std::vector<ir::Node>& replaced, const std::vector<ir::Node>& made);
  /// graph: after all windows, without what nobody needs.
  void give_to(ir::Graph& graph) const;

 private:
  std::vector<std::vector<ir::Node>> replaced_;  ///< nodes of the model, by window
  std::map<std::string, size_t> window_of_;      ///< by the names that nodes were made with
};

}  // namespace axrun::search::algebra
