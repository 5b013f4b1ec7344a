#pragma once

#include <string>
#include <vector>

#include "tests/search/cases.h"

namespace axrun::tests {

/// A product x[batch..., inputs, height, width] -> [batch..., channels, height, width], and windows over each
/// channel of it.
struct ChainedProduct {
  std::string name;
  ir::Dims batch = {};
  int64_t inputs = 1, channels = 1;
  int64_t height = 1, width = 1;
  std::vector<int64_t> kernel = {3, 3}, strides = {1, 1}, pads = {1, 1};
  bool activated = true;  ///< min(max(x + bias, 0), 6) of what the product gives
  bool shared = false;    ///< what the product gives is a result as well
  bool residual = false;  ///< is added to what the windows give, after a bias
  bool constant = true;   ///< weights are
};
inline void PrintTo(const ChainedProduct& chained, std::ostream* out) { *out << chained.name; }

ir::Program program_of(const ChainedProduct& chained);

std::vector<Case> chained_product_cases();

}  // namespace axrun::tests
