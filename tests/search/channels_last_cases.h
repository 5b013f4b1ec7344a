#pragma once

#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Convolutions, windows and maps between transpositions, as steps of a plan are composed whose values lie
/// channels-last: what is read, what is given, or both.
std::vector<Case> channels_last_cases();

}  // namespace axrun::tests
