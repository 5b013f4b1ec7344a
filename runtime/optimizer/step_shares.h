#pragma once

#include <map>
#include <vector>

#include "ir/graph.h"
#include "runtime/optimizer/plan_tree.h"

namespace axrun::runtime {

/// What part of the model's time the nodes of its graphs take. Steps are known by their nodes: those that
/// become one have together what they had apart, and have it again when they fall apart.
class StepShares {
 public:
  /// From now on the plans' steps take what they took here.
  void note(const TreeTimes& times);
  /// 0 where none of its nodes was ever timed.
  double of(const Plan& plan, const Step& step) const;
  /// Another graph may get its address.
  void forget(const ir::Graph& graph) { shares_.erase(&graph); }

 private:
  std::map<const ir::Graph*, std::map<int, double>> shares_;
};

}  // namespace axrun::runtime
