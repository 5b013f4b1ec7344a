#pragma once

#include <span>
#include <string_view>

namespace axrun::ir {

/// The operators of is_graph_operator (ir/operator.h), for listings.
struct GraphOperator {
  std::string_view domain;
  std::string_view name;
  int since;  ///< the first opset version that has it
};
std::span<const GraphOperator> graph_operators();

}  // namespace axrun::ir
