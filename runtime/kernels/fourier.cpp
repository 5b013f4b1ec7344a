#include "runtime/kernels/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

/// Longer signals are transformed one by one: side by side, they leave the cache.
constexpr int64_t longest_side_by_side = 1 << 15;

/// e^(sign 2 pi i j / length) for j < count.
std::vector<double> roots_of(int64_t length, int64_t count, bool inverse) {
  std::vector<double> roots;
  roots.reserve(static_cast<size_t>(2 * count));
  for (int64_t j = 0; j < count; ++j) {
    const double angle =
        (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length);
    roots.push_back(std::cos(angle));
    roots.push_back(std::sin(angle));
  }
  return roots;
}

std::vector<int64_t> factors_of(int64_t length) {
  std::vector<int64_t> factors;
  for (int64_t rest = length, factor = 4; rest > 1;) {
    if (rest % factor == 0) {
      factors.push_back(factor);
      rest /= factor;
      continue;
    }
    factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2;
    if (factor * factor > rest) factor = rest;
  }
  return factors;
}

}  // namespace

FourierTransform::FourierTransform(int64_t length, bool inverse, int64_t components, int64_t results)
    : length_(length),
      inverse_(inverse),
      components_(components),
      results_(results),
      form_(length % 2 != 0   ? FourierForm::complex_points
            : results == 1    ? FourierForm::to_real_pairs
            : components == 1 ? FourierForm::real_pairs
                              : FourierForm::complex_points) {
  const int64_t points = form_ == FourierForm::complex_points ? length : length / 2;
  factors_ = factors_of(points);
  roots_ = roots_of(points, points, inverse);
  if (form_ != FourierForm::complex_points) half_roots_ = roots_of(length, points + 1, inverse);
}

/// How the signals of a call are cut into batches, the same for every number of threads.
struct FourierSteps {
  FourierSignals signals;
  int64_t at_once;            ///< signals in a batch
  int64_t batches_per_outer;  ///< none crosses the outer loop
  FourierBatch batch;

  FourierSteps(const FourierTransform& transform, const FourierSignals& given) : signals(given) {
    if (signals.inner == 1) {
      signals.inner = signals.outer;
      signals.outer = 1;
      signals.read.inner = signals.read.outer;
      signals.made.inner = signals.made.outer;
    }
    const bool side_by_side = signals.inner > 1 && transform.length_ <= longest_side_by_side;
    at_once = side_by_side ? kernel_table().fourier_lanes : 1;
    batches_per_outer = divide_up(signals.inner, at_once);
    const double divisor = transform.inverse_ ? static_cast<double>(transform.length_) : 1;
    batch = {
        .form = transform.form_,
        .side_by_side = side_by_side,
        .length = transform.form_ == FourierForm::complex_points ? transform.length_ : transform.length_ / 2,
        .levels = static_cast<int64_t>(transform.factors_.size()),
        .factors = transform.factors_.data(),
        .roots = transform.roots_.data(),
        .half_roots = transform.half_roots_.data(),
        .scale = 1 / divisor,
        .count = at_once,
        .points = signals.points,
        .components = transform.components_,
        .frequencies = signals.frequencies,
        .results = transform.results_,
        .x = nullptr,
        .x_signal = signals.read.inner,
        .x_point = signals.read.point,
        .window = nullptr,
        .y = nullptr,
        .y_signal = signals.made.inner,
        .y_point = signals.made.point,
        .scratch = nullptr};
  }

  int64_t batches() const { return signals.outer * batches_per_outer; }
  /// Of one worker, whole lines of cache.
  int64_t scratch_doubles() const { return divide_up(kernel_table().fourier_scratch_doubles(batch), 8) * 8; }
};

size_t fourier_scratch_bytes(const FourierTransform& transform, const FourierSignals& signals, int threads) {
  const FourierSteps steps(transform, signals);
  const int64_t workers = std::min<int64_t>(threads, steps.batches());
  return static_cast<size_t>(workers * steps.scratch_doubles()) * sizeof(double);
}

void fourier(const FourierTransform& transform, const FourierSignals& signals, const float* x,
             const float* window, float* y, void* scratch, ThreadPool& pool) {
  const FourierSteps steps(transform, signals);
  const FourierSignals& s = steps.signals;
  const KernelTable& table = kernel_table();
  const int64_t scratch_doubles = steps.scratch_doubles();
  pool.parallel_for_workers(steps.batches(), 1, [&](int64_t worker, int64_t begin, int64_t end) {
    FourierBatch batch = steps.batch;
    batch.window = window;
    batch.scratch = static_cast<double*>(scratch) + worker * scratch_doubles;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / steps.batches_per_outer;
      const int64_t first = (i - outer * steps.batches_per_outer) * steps.at_once;
      batch.count = std::min(steps.at_once, s.inner - first);
      batch.x = x + outer * s.read.outer + first * s.read.inner;
      batch.y = y + outer * s.made.outer + first * s.made.inner;
      table.fourier(batch);
    }
  });
}

}  // namespace axrun::runtime
