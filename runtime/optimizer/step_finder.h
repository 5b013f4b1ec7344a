#pragma once

#include <map>
#include <memory>
#include <vector>

#include "runtime/plan/joints.h"
#include "runtime/plan/kernel_source.h"

namespace axrun::runtime {

/// Steps by the nodes that they are made of.
using StepsByNodes = std::map<std::vector<int>, Step>;

/// Has steps made of sets of nodes where the builder of a plan can, and keeps what they read and make. It has
/// no kernels: the plan itself is of no use.
class StepFinder final : public KernelSource {
 public:
  /// found: outlives it.
  StepFinder(const ir::Graph& graph, std::vector<std::vector<int>> sets, StepsByNodes& found)
      : graph_(graph), sets_(std::move(sets)), found_(found) {}

  Found find(const ir::Graph& graph, const std::vector<int>& nodes, const StepContext& context) override;
  std::vector<std::vector<int>> joined_groups(const ir::Graph& graph) override;

 private:
  const ir::Graph& graph_;
  std::vector<std::vector<int>> sets_;
  StepsByNodes& found_;
};

/// A step that was found, and the steps of a plan of the same graph that it takes the place of: two or more,
/// with kernels; what else it computes are views, which take no step. No steps where there are no such ones.
Joint joint_within(const Step& found, const Plan& apart);

}  // namespace axrun::runtime
