#pragma once

#include <cstdint>
#include <vector>

#include "verify/bilinear_identity.h"

namespace axrun::search::algebra {

/// A bilinear algorithm for the correlation of `taps` weights g with `outputs` + `taps` - 1 elements d:
///
///     sum over s of g[s] d[p + s]  =  sum over x of a[x][p] (sum over s of g[x][s] g[s] / scale) (sum over i
///     of b[x][i] d[i])
///
/// with one product for each of as many points x as there are elements: outputs + taps - 1 instead of outputs
/// x taps. All coefficients are integers. Of two dimensions there is one along each.
///
/// Toom and Cook's construction: both sides are polynomials, evaluated at small points and at infinity, and
/// interpolated; transposed. (Winograd, Arithmetic Complexity of Computations, 1980; Lavin and Gray, Fast
/// Algorithms for Convolutional Neural Networks, 2016.)
struct BilinearAlgorithm {
  using Matrix = std::vector<std::vector<int64_t>>;
  int outputs = 0, taps = 0;
  Matrix a;  ///< points x outputs
  Matrix g;  ///< points x taps
  Matrix b;  ///< points x points
  int64_t scale = 1;

  int points() const { return outputs + taps - 1; }
  /// The largest sum of magnitudes that an output has, over that of the same output by its definition, for
  /// weights and elements of magnitude 1. Rounding errors, which follow magnitudes, grow by no more, next to
  /// the largest weight and element of a tile. Of two dimensions: its square.
  double growth() const;
};

/// At the points 0, 1, -1, 2, -2 and infinity, as many as it takes: outputs + taps - 1 may be 2 to 6. It
/// proposes; verify/bilinear_identity.h proves.
BilinearAlgorithm bilinear_algorithm(int outputs, int taps);

/// The same for tiles of outputs x outputs and filters of taps x taps, both row by row: coefficients of two
/// points, outputs, taps or elements are the products of those along each dimension.
verify::BilinearCoefficients in_two_dimensions(const BilinearAlgorithm& algorithm);

}  // namespace axrun::search::algebra
