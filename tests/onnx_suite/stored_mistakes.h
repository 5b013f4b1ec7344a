#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/value.h"

namespace axrun::tests {

/// A case of Debian's suite whose stored data does not follow from its own model: what was done when it was
/// stored. The case counts when, done so, it gives the stored answer within the suite's tolerance.
struct StoredMistake {
  std::string what;
  void (*model)(ir::Graph& graph) = nullptr;  ///< what the stored answer was computed by
  void (*inputs)(std::vector<runtime::RuntimeValue>& inputs) = nullptr;  ///< what was meant
  void (*answer)(const std::vector<runtime::RuntimeValue>& inputs, ir::Tensor& got) = nullptr;
};

/// nullptr for a case that is as it should be.
const StoredMistake* find_mistake(const std::string& name);

}  // namespace axrun::tests
