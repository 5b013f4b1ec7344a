#pragma once

#include <string>

namespace axrun::cli {

/// What a model file holds: inputs, outputs, opsets, operators, parameters, named sizes, and what axrun would
/// refuse. Models that axrun cannot run can be inspected too. Throws Error where the file cannot be read.
std::string inspect_text(const std::string& path);
std::string inspect_json(const std::string& path);

}  // namespace axrun::cli
