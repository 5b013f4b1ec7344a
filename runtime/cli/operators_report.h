#pragma once

#include <string>

namespace axrun::cli {

/// Every operator that models may have: domain, name, the opset versions at which its definition changes, and
/// what runs it before the optimiser does. The JSON has them in "operators".
std::string operators_text();
std::string operators_json();

}  // namespace axrun::cli
