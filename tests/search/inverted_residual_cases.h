#pragma once

#include <string>
#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// A product of x[batch..., inputs, height, width] that makes channels, windows over each of these, and a sum
/// over all of what the windows give.
struct InvertedResidual {
  std::string name;
  ir::Dims batch = {};
  int64_t inputs = 1, channels = 1, filters = 1;
  int64_t height = 1, width = 1;
  std::vector<int64_t> kernel = {3, 3}, strides = {1, 1}, pads = {1, 1};
  /// min(max(x + bias, 0), 6) of what the product gives, and of what the windows give.
  bool activated = true, activated_again = true;
  bool shifted = false;  ///< an operand of its own dims is added to what the product gives
  /// What follows the sum; x is the residual where there are as many filters as inputs.
  enum class Epilogue { none, bias, residual } epilogue = Epilogue::bias;
  /// What the product gives is a result as well, or what the windows give.
  enum class Shared { none, product, windows } shared = Shared::none;
  bool constant = true;  ///< weights are
};
inline void PrintTo(const InvertedResidual& inverted, std::ostream* out) { *out << inverted.name; }

ir::Program program_of(const InvertedResidual& inverted);

std::vector<Case> inverted_residual_cases();

}  // namespace axrun::tests
