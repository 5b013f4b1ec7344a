#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/kernels/fourier_batch.h"

namespace axrun::runtime {

class ThreadPool;

/// Discrete Fourier transforms of one length, which may be any: y[k] = sum over n of x[n] e^(sign 2 pi i k n
/// / length), in double and in time length * (sum of its prime factors). Decimation in time, after Cooley and
/// Tukey (Mathematics of Computation 19, 1965); real signals of even length as half as many complex points.
class FourierTransform {
 public:
  /// `components` of a point that is read and `results` of one that is made: 1, or 2, real and imaginary.
  /// With results = 1, what is read is the half of a spectrum that tells its other half.
  FourierTransform(int64_t length, bool inverse, int64_t components, int64_t results);

  int64_t length() const { return length_; }
  bool inverse() const { return inverse_; }
  int64_t components() const { return components_; }
  int64_t results() const { return results_; }

 private:
  friend struct FourierSteps;
  int64_t length_;
  bool inverse_;
  int64_t components_, results_;
  FourierForm form_;
  std::vector<int64_t> factors_;
  std::vector<double> roots_, half_roots_;
};

/// Signals in two nested loops: floats from one to the next, and from point to point.
struct FourierPlaces {
  int64_t outer = 0, inner = 0, point = 0;
};

struct FourierSignals {
  int64_t outer = 1, inner = 1;  ///< how many
  int64_t points = 1;            ///< read of each, at most `length`; those that lack are 0
  int64_t frequencies = 1;       ///< or, of a transform to real points, points made
  FourierPlaces read, made;
};

size_t fourier_scratch_bytes(const FourierTransform& transform, const FourierSignals& signals, int threads);

/// Transforms every signal, its points multiplied by `window` where that is not null; inverse transforms are
/// divided by their length.
void fourier(const FourierTransform& transform, const FourierSignals& signals, const float* x,
             const float* window, float* y, void* scratch, ThreadPool& pool);

}  // namespace axrun::runtime
