#pragma once

#include <string>
#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Windows over each channel of what a map makes of x[batch..., channels, height, width].
struct MappedWindows {
  std::string name;
  ir::Dims batch = {};
  int64_t channels = 1, height = 1, width = 1;
  std::vector<int64_t> kernel = {3, 3}, strides = {1, 1}, pads = {1, 1};
  bool bytes = true;     ///< floats of bytes, as for the weights; otherwise x * min(max(x / 4 + 1 / 2, 0), 1)
  bool clamped = true;   ///< min(max(y + bias, 0), 6) of what the windows give
  bool shared = false;   ///< what the map gives is a result as well
  bool constant = true;  ///< weights are
};

ir::Program program_of(const MappedWindows& mapped);

std::vector<Case> mapped_windows_cases();

}  // namespace axrun::tests
