#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "runtime/plan/step_work.h"

namespace axrun::runtime {

/// What a step of given nodes reads and gives: the same at all sizes.
struct StepOutline {
  std::vector<const ir::Node*> group;
  /// Of the group: see StepContext.
  std::vector<ir::ValueId> inputs, outputs;
  std::shared_ptr<const StepWork> work;
};

}  // namespace axrun::runtime
