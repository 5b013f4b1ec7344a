#pragma once

#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Products under schedules that are given: every kind of decision, in nests of up to three levels.
std::vector<Case> scheduled_product_cases();
/// Larger ones under the first schedule that a search finds.
std::vector<Case> found_product_cases();

}  // namespace axrun::tests
