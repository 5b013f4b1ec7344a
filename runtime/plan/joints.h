#pragma once

#include <vector>

#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// Steps of a plan that may be one: each reads what the one before computes, perhaps through views that
/// nothing else reads.
struct Joint {
  std::vector<size_t> steps;  ///< their numbers, in order
  Step step;                  ///< of the nodes of all, and of the views in between; it has no kernel yet
};

/// Every chain of so many steps with kernels (two or three) of which the last one can do the work of all:
/// what else reads their results comes after it. Which of them are worth a step of their own is for the
/// expression of the joint step to say: whether there is a schedule for it, and what that takes.
std::vector<Joint> joints_of(const Plan& plan, size_t count);

}  // namespace axrun::runtime
