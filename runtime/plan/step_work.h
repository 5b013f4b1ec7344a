#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace axrun::runtime {

/// What a step computes: the same at all sizes, and shared by the plans of all of them.
struct StepWork {
  const ir::Node* node = nullptr;   ///< the (first) node, for names
  std::vector<ir::ValueId> inputs;  ///< absent where the expression does not read them
  std::vector<ir::ValueId> outputs;
  std::string ops;         ///< "Conv+Relu"
  std::vector<int> nodes;  ///< of the graph, by position: what the kernel computes
};

}  // namespace axrun::runtime
