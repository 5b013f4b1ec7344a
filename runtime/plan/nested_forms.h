#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

/// What a nested plan was made for, and those inside of it: enough to make it again, in a plan of the same
/// nodes for the same shapes.
struct NestedForm {
  std::string node;  ///< the name of the one whose body it is for; empty: it is the continuation
  size_t body = 0;   ///< which one of the node's
  std::vector<ir::ValueId> live_in;  ///< of a continuation
  std::string key;                   ///< signature.h
  Uses uses;
  std::vector<NestedForm> inside;
};

/// All the way down; of one place those used last come first.
std::vector<NestedForm> nested_forms(const Plan& plan);

}  // namespace axrun::runtime
