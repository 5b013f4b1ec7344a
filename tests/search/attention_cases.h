#pragma once

#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Products, softmax of their rows, and products of that, as one expression.
std::vector<Case> attention_cases();
/// With so many keys that the interpreter of loop programs takes long.
std::vector<Case> attention_in_parts_cases();
/// In parts, two or three, as the second cache is small.
std::vector<Case> attention_in_few_parts_cases();
/// With so many keys that both can be done.
Case attention_at_once_or_in_parts();

}  // namespace axrun::tests
