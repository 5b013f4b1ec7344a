#pragma once

#include <memory>
#include <string>

#include "ir/custom_operator.h"

namespace axrun::cli {

/// What a model file holds: inputs, outputs, opsets, operators, parameters, named sizes, and what axrun would
/// refuse. Models that axrun cannot run can be inspected too. Throws Error where the file cannot be read.
using Operators = std::shared_ptr<const ir::CustomOperators>;  ///< besides axrun's own; null: none
std::string inspect_text(const std::string& path, const Operators& operators = nullptr);
std::string inspect_json(const std::string& path, const Operators& operators = nullptr);

}  // namespace axrun::cli
