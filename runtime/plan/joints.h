#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// Two steps of a plan that may be one: the second reads what the first computes, perhaps through views that
/// nothing else reads.
struct Joint {
  size_t first = 0, second = 0;
  Step step;  ///< of the nodes of both, and of the views in between; it has no kernel yet
};

/// Every pair of steps with kernels of which the later one can do the earlier one's work: whatever else reads
/// the earlier one's results comes after both. Which of them are worth a step of their own is for the
/// expression of the joint step to say: whether there is a schedule for it, and what that takes.
std::vector<Joint> joints_of(const Plan& plan);

}  // namespace axrun::runtime
