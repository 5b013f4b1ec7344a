#pragma once

#include "runtime/node_executor.h"

namespace axrun::tests {

/// Thrown by a BoundedExecutor whose run is not small.
struct LargeRun {};

/// The reference for small runs: it ends one that runs many nodes or is about to make a large tensor. Inputs
/// may be numbers of trips and sizes.
class BoundedExecutor final : public runtime::NodeExecutor {
 public:
  using NodeExecutor::NodeExecutor;

  std::vector<runtime::RuntimeValue> compute(const ir::Node& node,
                                             const std::vector<runtime::RuntimeValue>& inputs) override;

 private:
  int nodes_run_ = 0;
};

}  // namespace axrun::tests
