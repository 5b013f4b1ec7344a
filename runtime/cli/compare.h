#pragma once

#include <string>

#include "runtime/value.h"

namespace axrun::cli {

struct Options;

/// From this tolerance on, values are taken to be quantised: see Tolerance.
inline constexpr double quantised_from = 0.05;

/// How far a value may be from the expected one. T is the largest finite expected magnitude of the tensor.
///
/// Floats: |got - want| <= relative * max(T, 0.01); NaN matches NaN, infinities match themselves. Integers,
/// booleans and strings: equal. When relative >= quantised_from, moreover: at most 0.5% of the floats may lie
/// beyond half of the tolerance, and up to 5% of the integers may differ.
struct Tolerance {
  double relative = 1e-4;
  bool quantised() const { return relative >= quantised_from; }
};

/// What the options ask for.
Tolerance tolerance_of(const Options& options);

struct Comparison {
  bool ok = true;
  double max_abs_error = 0;  ///< of floats and integers; infinite where a NaN or an infinity differs
  std::string why;           ///< when not ok: "element [0, 3] is 1.5, expected 1.25 (tolerance 1e-4)"
};

/// Containers are compared element by element.
Comparison compare(const runtime::RuntimeValue& want, const runtime::RuntimeValue& got,
                   const Tolerance& tolerance);

}  // namespace axrun::cli
