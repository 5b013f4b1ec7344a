#pragma once

#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Writes to, and reads from, places that are known before: scatters with known indices, resizes.
std::vector<Case> placement_cases();

}  // namespace axrun::tests
