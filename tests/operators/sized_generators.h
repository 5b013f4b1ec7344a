#pragma once

#include <vector>

#include "tests/operators/generators.h"

namespace axrun::runtime {

/// Of operators that have no kernels of their own to be tested, but definitions that keep sizes open: small
/// cases whose shapes are what matters.
std::vector<GeneratorEntry> sized_generators();

}  // namespace axrun::runtime
