#pragma once

#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Reads at indices that are data: rows of tables, and what is computed of them.
std::vector<Case> gather_cases();

}  // namespace axrun::tests
