#pragma once

#include <cstdint>

namespace axrun::runtime {

/// How signals become points of a complex transform, and its results what is asked for.
enum class FourierForm : int32_t {
  complex_points,  ///< each point is one; real ones have no imaginary part
  real_pairs,      ///< real points in pairs: half the length
  to_real_pairs,   ///< half a spectrum, whose other half is its conjugate, to real points in pairs
};

/// Signals that are transformed together, one in each lane; see FourierTransform and FourierSignals. No
/// member has an initializer: the struct is used at every instruction-set level.
struct FourierBatch {
  FourierForm form;
  bool side_by_side;       ///< or one signal alone, count = 1
  int64_t length;          ///< of the complex transform
  int64_t levels;          ///< of factors
  const int64_t* factors;  ///< their product is `length`
  const double* roots;     ///< e^(sign 2 pi i j / length), real and imaginary, for j < length
  /// e^(sign pi i k / length) for k <= length; unused by complex_points.
  const double* half_roots;
  double scale;

  int64_t count;  ///< of signals, at most fourier_lanes
  int64_t points, components, frequencies, results;
  const float* x;
  int64_t x_signal, x_point;  ///< floats from one to the next
  const float* window;        ///< [points], or null
  float* y;
  int64_t y_signal, y_point;
  double* scratch;  ///< fourier_scratch_doubles, 64-byte aligned
};

}  // namespace axrun::runtime
