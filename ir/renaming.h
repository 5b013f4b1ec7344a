#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"

namespace axrun::ir {

/// Replaces reads of values (outputs of the graph included) by other values.
class Renaming {
 public:
  explicit Renaming(size_t values);
  void forward(ValueId from, ValueId to) { target_[static_cast<size_t>(from)] = resolve(to); }
  ValueId resolve(ValueId id) const;
  /// Of a node, and of what its bodies capture.
  void apply(Node& node) const;

 private:
  /// Bodies are shared between the copies of a graph: what changes is copied first.
  void recapture(std::shared_ptr<Graph>& body) const;

  std::vector<ValueId> target_;
};

}  // namespace axrun::ir
