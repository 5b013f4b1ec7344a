// Whether two programs computed the same: nobody is timed on another problem.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace axrun::perf {

/// How far two float32 sums of `terms` products of numbers in [-1, 1) of random signs may lie apart, relative
/// to the largest of many such sums: their rounding errors grow like the square root of the number, as the
/// sums do. A missing product shows with up to about 10,000 terms.
double tolerance_of_sums(int64_t terms);

/// Why `result`, as long as `wanted`, is not the same, in words that begin with `name`; nothing if it is: no
/// element lies further off than `tolerance` times the largest one. Infinities and NaN never agree.
std::optional<std::string> disagreement(const std::string& name, const float* result,
                                        const std::vector<float>& wanted, double tolerance);

}  // namespace axrun::perf
