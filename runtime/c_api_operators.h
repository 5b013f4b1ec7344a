#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/custom_operator.h"
#include "ir/operator.h"
#include "runtime/axrun_operators.h"
#include "runtime/c_api_handles.h"

// The handles of runtime/axrun_operators.h.

struct axrun_operators {
  axrun::ir::CustomOperators set;
};

namespace axrun::c_api {

/// Those of shared libraries, as axrun_operators_load adds them; null for none. Throws Error(user).
std::shared_ptr<const ir::CustomOperators> operators_of(const std::vector<std::string>& libraries);

}  // namespace axrun::c_api

/// A node while its operator's callbacks look at it.
struct axrun_node {
  struct Output {
    axrun::ir::ElementType type = axrun::ir::ElementType::undefined;  ///< undefined: not set
    std::vector<int64_t> dims;                                        ///< negative ones are open
  };

  const axrun::ir::Node& node;
  const axrun::ir::OperatorContext* context;  ///< null in calls: only attributes can be asked for

  // What a definition leaves.
  std::vector<Output> outputs = {};
  std::optional<axrun::ir::Program> text = {};
  std::shared_ptr<void> state = {};
  std::optional<std::string> unknown = {};  ///< what was asked for and is not known yet
  std::string message = {};

  // What answers point to.
  std::list<std::vector<int64_t>> dims = {};
  std::list<std::vector<const char*>> pointers = {};
  std::list<axrun::c_api::StringArrays> strings = {};
};

/// One execution of a node.
struct axrun_call {
  axrun_node node;
  void* state;
  const std::vector<axrun::ir::Tensor>& inputs;
  std::vector<axrun::ir::CustomResult>& results;
  const axrun::ir::ParallelFor& parallel;
  std::string message = {};
  std::list<axrun::c_api::StringArrays> strings = {};
};
