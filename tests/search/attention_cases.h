#pragma once

#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Products, softmax of their rows, and products of that, as one expression.
std::vector<Case> attention_cases();

}  // namespace axrun::tests
