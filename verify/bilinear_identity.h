#pragma once

#include <cstdint>
#include <vector>

#include "verify/evidence.h"

namespace axrun::verify {

/// Coefficients of a bilinear algorithm: rows by its products.
struct BilinearCoefficients {
  using Matrix = std::vector<std::vector<int64_t>>;
  Matrix a;  ///< of each output
  Matrix g;  ///< of each weight
  Matrix b;  ///< of each element
  int64_t scale = 1;
  /// Of every output and weight, row by row: the element that it is multiplied with, by the definition.
  std::vector<std::vector<size_t>> element;
};

/// Whether  sum over x of a[x][p] g[x][s] b[x][i]  is `scale` where element[p][s] is i, and 0 for all others:
/// then for all weights and elements, whatever they are, output p is the sum over s of weight s times element
/// i. Expanded in integers, exactly. Refuted: the coefficient at fault. Unknown: matrices that do not fit
/// together.
Evidence prove_bilinear(const BilinearCoefficients& coefficients);

}  // namespace axrun::verify
