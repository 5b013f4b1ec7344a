#pragma once

#include <string_view>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::ir {

/// A reference function for what cannot be a tensor expression. It gets the stage (its payload, and the
/// declared results) and the argument tensors, and returns one tensor per result; dims that the program
/// declares as unknown are decided here. Throws Error(user) for bad data.
using OpaqueFunction = std::vector<Tensor> (*)(const Stage& stage, const std::vector<Tensor>& arguments);

struct OpaqueEntry {
  std::string_view name;
  std::string_view reason;  ///< why it cannot be an expression
  OpaqueFunction function;
};

/// The closed list. nullptr when there is no such function.
const OpaqueEntry* find_opaque(std::string_view name);
const std::vector<OpaqueEntry>& all_opaque();

/// Appends the rows of the list; ir/ops/opaque_functions.cpp.
void opaque_functions(std::vector<OpaqueEntry>& table);

}  // namespace axrun::ir
