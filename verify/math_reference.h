#pragma once

#include <string_view>
#include <vector>

namespace axrun::verify {

/// What a one-argument f32 function should answer, in f64 and, to any precision, in MPFR.
struct MathReference {
  std::string_view name;
  /// The function over the reals, and its special values as IEEE 754 and the C standard (annex F) give them.
  /// Relative error below `reference_error` wherever the result is finite and not zero.
  double (*value)(double x);
  /// Correctly rounded to f64 from an MPFR evaluation of 256 bits; finite, non-zero results only.
  double (*precise)(double x);
  /// The magnitude whose last place errors are measured in, where it is larger than the result's own: that of
  /// an intermediate that the function's definition cancels. Null when there is none.
  double (*scale)(double x) = nullptr;
};

/// 2^-45: a two-hundred-thousandth of a last place of f32. What libm's functions (under 1 ulp of f64 each)
/// and the few operations around them lose; tested against MPFR.
inline constexpr double reference_error = 0x1p-45;

const std::vector<MathReference>& math_references();
/// Null for an unknown name.
const MathReference* find_math_reference(std::string_view name);

}  // namespace axrun::verify
