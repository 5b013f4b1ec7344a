#include "verify/bilinear_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "verify/checks.h"

namespace axrun::verify {
namespace {

/// Sums of fewer than 2^20 products of three such are below 2^113.
constexpr int64_t largest_coefficient = int64_t{1} << 31;
constexpr size_t most_products = size_t{1} << 20;

bool is_matrix(const BilinearCoefficients::Matrix& matrix, size_t rows) {
  return matrix.size() == rows && rows > 0 &&
         std::all_of(matrix.begin(), matrix.end(), [&](const std::vector<int64_t>& row) {
           return !row.empty() && row.size() == matrix.front().size() &&
                  std::all_of(row.begin(), row.end(), [](int64_t x) {
                    return x >= -largest_coefficient && x <= largest_coefficient;
                  });
         });
}

}  // namespace

Evidence prove_bilinear(const BilinearCoefficients& coefficients) {
  const auto& [a, g, b, scale, element] = coefficients;
  const auto unknown = [](const char* why) { return Evidence{Verdict::unknown, why, 0}; };
  if (a.size() > most_products || !is_matrix(a, a.size()) || !is_matrix(g, a.size()) ||
      !is_matrix(b, a.size()))
    return unknown("the coefficients are no matrices of as many rows");
  if (scale == 0 && checks::on("bilinear.scale")) return unknown("the scale is 0");
  const size_t outputs = a.front().size(), weights = g.front().size(), elements = b.front().size();
  const bool fits = element.size() == outputs &&
                    std::all_of(element.begin(), element.end(), [&](const std::vector<size_t>& row) {
                      return row.size() == weights &&
                             std::all_of(row.begin(), row.end(), [&](size_t i) { return i < elements; });
                    });
  if (!fits) return unknown("the definition has other outputs, weights or elements");
  for (size_t p = 0; p < outputs; ++p) {
    for (size_t s = 0; s < weights; ++s) {
      for (size_t i = 0; i < elements; ++i) {
        __extension__ __int128 sum = 0;
        for (size_t x = 0; x < a.size(); ++x) sum += static_cast<__int128>(a[x][p]) * g[x][s] * b[x][i];
        const int64_t wanted = element[p][s] == i ? scale : 0;
        if (sum == wanted || !checks::on("bilinear.coefficient")) continue;
        return {Verdict::refuted,
                fmt::format("output {}, weight {}, element {}: another coefficient than {}/{}", p, s, i,
                            wanted, scale),
                0};
      }
    }
  }
  return {Verdict::proved,
          fmt::format("{} coefficients of {} products", outputs * weights * elements, a.size()), 0};
}

}  // namespace axrun::verify
