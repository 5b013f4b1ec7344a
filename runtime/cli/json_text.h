#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace axrun::cli {

/// The object on one line, ended by a newline; bytes that are not UTF-8 are replaced.
std::string line_of(const nlohmann::ordered_json& json);

/// JSON has no infinity: null, as for a NaN.
nlohmann::ordered_json number(double value);

}  // namespace axrun::cli
