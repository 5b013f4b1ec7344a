#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/plan/shared_list.h"

namespace axrun::runtime {

/// What a step of given nodes reads and gives: the same at all sizes.
struct StepOutline {
  std::vector<const ir::Node*> group;
  /// Of the group: see StepContext.
  std::vector<ir::ValueId> inputs, outputs;
  SharedList<ir::ValueId> reads;  ///< the inputs, absent where the expression does not read them
  SharedList<ir::ValueId> gives;  ///< the outputs
  SharedList<int> nodes;
  std::string ops;  ///< "Conv+Relu"
};

}  // namespace axrun::runtime
