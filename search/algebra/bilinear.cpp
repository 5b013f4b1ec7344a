#include "search/algebra/bilinear.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "ir/error.h"

namespace axrun::search::algebra {
namespace {

using Matrix = BilinearAlgorithm::Matrix;
constexpr int64_t finite_points[] = {0, 1, -1, 2, -2};

int64_t power(int64_t base, int exponent) {
  int64_t result = 1;
  for (int k = 0; k < exponent; ++k) result *= base;
  return result;
}

std::vector<int64_t> powers(int64_t base, int count) {
  std::vector<int64_t> result;
  for (int k = 0; k < count; ++k) result.push_back(power(base, k));
  return result;
}

/// Coefficients, lowest first, of the product of (t - point) over points other than number `without`.
std::vector<int64_t> product_of_roots(int points, int without) {
  std::vector<int64_t> result{1};
  for (int k = 0; k < points; ++k) {
    if (k == without) continue;
    std::vector<int64_t> next(result.size() + 1, 0);
    for (size_t d = 0; d < result.size(); ++d) {
      next[d + 1] += result[d];
      next[d] -= finite_points[k] * result[d];
    }
    result = std::move(next);
  }
  return result;
}

/// Rows by pairs of rows, columns by pairs of columns.
Matrix product(const Matrix& m) {
  Matrix result;
  for (const std::vector<int64_t>& first : m) {
    for (const std::vector<int64_t>& second : m) {
      std::vector<int64_t>& row = result.emplace_back();
      for (const int64_t x : first)
        for (const int64_t y : second) row.push_back(x * y);
    }
  }
  return result;
}

int64_t magnitude(const std::vector<int64_t>& row) {
  return std::accumulate(row.begin(), row.end(), int64_t{0},
                         [](int64_t sum, int64_t x) { return sum + std::abs(x); });
}

}  // namespace

double BilinearAlgorithm::growth() const {
  double most = 0;
  for (size_t p = 0; p < static_cast<size_t>(outputs); ++p) {
    double sum = 0;
    for (size_t x = 0; x < a.size(); ++x) {
      sum += static_cast<double>(std::abs(a[x][p])) * static_cast<double>(magnitude(g[x])) *
             static_cast<double>(magnitude(b[x]));
    }
    most = std::max(most, sum);
  }
  return most / static_cast<double>(scale) / taps;
}

BilinearAlgorithm bilinear_algorithm(int outputs, int taps) {
  BilinearAlgorithm made;
  made.outputs = outputs;
  made.taps = taps;
  const int points = made.points(), finite = points - 1;
  AXRUN_ASSERT(outputs >= 1 && taps >= 1 && finite >= 1 &&
               finite <= static_cast<int>(std::size(finite_points)));
  std::vector<int64_t> divisors;
  for (int x = 0; x < finite; ++x) {
    int64_t divisor = 1;
    for (int k = 0; k < finite; ++k) divisor *= k == x ? 1 : finite_points[x] - finite_points[k];
    divisors.push_back(divisor);
    made.scale = std::lcm(made.scale, divisor);
  }
  for (int x = 0; x < points; ++x) {
    const bool at_infinity = x == finite;
    std::vector<int64_t> a(static_cast<size_t>(outputs), 0), g(static_cast<size_t>(taps), 0);
    if (at_infinity) {
      a.back() = 1;
      g.back() = made.scale;
    } else {
      a = powers(finite_points[x], outputs);
      g = powers(finite_points[x], taps);
      for (int64_t& one : g) one *= made.scale / divisors[static_cast<size_t>(x)];
    }
    made.a.push_back(std::move(a));
    made.g.push_back(std::move(g));
    std::vector<int64_t> b = product_of_roots(finite, at_infinity ? -1 : x);
    b.resize(static_cast<size_t>(points), 0);
    made.b.push_back(std::move(b));
  }
  return made;
}

verify::BilinearCoefficients in_two_dimensions(const BilinearAlgorithm& algorithm) {
  verify::BilinearCoefficients made{product(algorithm.a),
                                    product(algorithm.g),
                                    product(algorithm.b),
                                    algorithm.scale * algorithm.scale,
                                    {}};
  const auto outputs = static_cast<size_t>(algorithm.outputs), taps = static_cast<size_t>(algorithm.taps),
             points = static_cast<size_t>(algorithm.points());
  for (size_t p = 0; p < outputs * outputs; ++p) {
    std::vector<size_t>& row = made.element.emplace_back();
    for (size_t s = 0; s < taps * taps; ++s)
      row.push_back((p / outputs + s / taps) * points + p % outputs + s % taps);
  }
  return made;
}

}  // namespace axrun::search::algebra
