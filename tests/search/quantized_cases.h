#pragma once

#include <string>
#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Convolutions of bytes: exact sums of what is left of the zero points, and what QDQ models make of floats.
std::vector<Case> quantized_cases();
/// Convolutions that are sums of products of bytes where targets have these (has_byte_products), and of words
/// elsewhere.
std::vector<Case> byte_cases();

}  // namespace axrun::tests
