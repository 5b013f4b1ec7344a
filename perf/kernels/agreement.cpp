#include "perf/kernels/agreement.h"

#include <algorithm>
#include <cmath>

namespace axrun::perf {

double tolerance_of_sums(int64_t terms) { return 1e-5 + 1e-6 * std::sqrt(static_cast<double>(terms)); }

std::optional<std::string> disagreement(const std::string& name, const float* result,
                                        const std::vector<float>& wanted, double tolerance) {
  double largest = 0, difference = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(result[i]) || !std::isfinite(wanted[i])) {
      return name + ": element " + std::to_string(i) + " of its result or of axrun's is not finite";
    }
    largest = std::max(largest, std::fabs(static_cast<double>(wanted[i])));
    difference =
        std::max(difference, std::fabs(static_cast<double>(result[i]) - static_cast<double>(wanted[i])));
  }
  if (difference <= tolerance * largest) return std::nullopt;
  return name + " differs from axrun by " + std::to_string(difference / largest) +
         " of the largest result; allowed is " + std::to_string(tolerance);
}

}  // namespace axrun::perf
