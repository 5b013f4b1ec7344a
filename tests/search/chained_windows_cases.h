#pragma once

#include <string>
#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// Windows over x[batch..., channels, height, width] and a sum over the channels of what they give.
struct ChainedWindows {
  std::string name;
  ir::Dims batch = {};
  int64_t channels = 1, filters = 1;
  int64_t height = 1, width = 1;
  std::vector<int64_t> kernel = {3, 3}, strides = {1, 1}, dilations = {1, 1}, pads = {1, 1};
  ir::Monoid::Kind monoid = ir::Monoid::Kind::sum;
  bool weights = true;    ///< each tap is multiplied by w[channel, tap...]
  bool activated = true;  ///< min(max(x + bias, 0), 6) of what the windows give
  bool shared = false;    ///< what the windows give is a result as well
  /// What follows the sum.
  enum class Epilogue { none, bias, residual, gelu } epilogue = Epilogue::bias;
  bool constant = true;  ///< weights are
};
inline void PrintTo(const ChainedWindows& chained, std::ostream* out) { *out << chained.name; }

ir::Program program_of(const ChainedWindows& chained);

std::vector<Case> chained_windows_cases();

}  // namespace axrun::tests
