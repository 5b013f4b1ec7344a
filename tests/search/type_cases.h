#pragma once

#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Elements of types other than f32: what is quantised, long integers, booleans, half precision.
std::vector<Case> type_cases();

}  // namespace axrun::tests
