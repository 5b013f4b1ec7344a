#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/lane/program.h"
#include "verify/math_reference.h"

namespace axrun::verify {

/// The accuracy of a lane program of one f32, *tested* (not proved) against a reference in f64 of bounded
/// error.
///
/// An error is |result - exact| in units of the last place that a float of the exact result's magnitude has
/// (2^-149 for denormals and zero), or of the reference's scale where that is larger. Infinity counts as
/// 2^128, for both sides, so overflow is wrong exactly as far as it is early or late.
struct UlpReport {
  uint64_t inputs = 0;  ///< floats tried, NaN and infinities included
  uint64_t finite = 0;  ///< of these, finite ones with a result that is not NaN: those that have an error
  double most_ulp = 0;  ///< exact to 2^-20; MPFR has decided among the largest
  double mean_ulp = 0;
  uint32_t worst = 0;  ///< the bits of an input with the largest error
  /// Inputs whose result is NaN where it must not be or is not where it must; has the wrong sign (of zero,
  /// too); or, for zeros and infinities, is not the reference's float to the bit.
  uint64_t special_wrong = 0;
  std::optional<uint32_t> first_wrong;  ///< the bits of the least such input

  bool within(double bound) const { return special_wrong == 0 && most_ulp <= bound; }
};

/// Every stride-th float's bits from 0 to 2^32 - 1; stride 1 tries them all. `threads` < 1 counts as 1.
UlpReport measure_ulp(const ir::lane::Program& program, const MathReference& reference, uint32_t stride,
                      int threads);
/// These floats, given by their bits.
UlpReport measure_ulp(const ir::lane::Program& program, const MathReference& reference,
                      std::span<const uint32_t> inputs);

/// Zero, the least and largest normal floats, infinity, one, and every float constant of the program
/// (thresholds are among them), each with `radius` neighbours on both sides and both signs: where lane
/// programs go wrong.
std::vector<uint32_t> special_neighbourhoods(const ir::lane::Program& program, uint32_t radius);

}  // namespace axrun::verify
