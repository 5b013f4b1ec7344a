#pragma once

#include <string>

#include "runtime/optimizer/step_expression.h"
#include "search/lowering.h"
#include "verify/gate_sizes.h"

namespace axrun::runtime {

/// Whether the sizes are within a factor of two of each other.
bool alike(const SizeValues& a, const SizeValues& b);

/// How far apart sizes are: by how many doublings.
double distance(const SizeValues& a, const SizeValues& b);

bool covers(const search::Sizes& ranges, const SizeValues& sizes);

/// "n: 2..16384, m: 1..1".
std::string text_of(const search::Sizes& ranges);
/// "n=257, m=37 | n=7, m=4097".
std::string text_of(const verify::TestedSizes& tested);

/// The sizes for which a kernel is wanted that is first needed at these. A size of 0 or 1 is taken for that
/// very size: one row of a product, one step of a decoder want a schedule of their own.
search::Sizes ranges_around(const StepExpression& expression, const SizeValues& sizes);

}  // namespace axrun::runtime
