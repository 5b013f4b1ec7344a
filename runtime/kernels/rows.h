#pragma once

#include <cstdint>

namespace axrun::runtime {

class ThreadPool;

/// A contiguous tensor seen from one axis (or a run of adjacent axes): X[outer][extent][inner].
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
};

/// Softmax and its logarithm along the axis; Y has X's shape and may be X. A row of -infinity gives NaN, as
/// the definition exp(x - max) / sum does.
void softmax(AxisView view, const float* x, float* y, ThreadPool& pool);
void log_softmax(AxisView view, const float* x, float* y, ThreadPool& pool);

/// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over each row of X[rows][columns]; variance is
/// the mean squared deviation. `scale` and `bias` are [columns] or null. `mean` and `inverse_deviation` are
/// [rows] or null.
struct LayerNormArguments {
  int64_t rows = 0, columns = 0;
  const float* x = nullptr;
  float* y = nullptr;  ///< may be x
  const float* scale = nullptr;
  const float* bias = nullptr;
  float epsilon = 1e-5f;
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
};
void layer_norm(const LayerNormArguments& arguments, ThreadPool& pool);

/// y = x / sqrt(mean(x^2) + epsilon) * scale. `bias` is added if given; `mean` is not written.
void rms_norm(const LayerNormArguments& arguments, ThreadPool& pool);

/// Instance normalization: like layer_norm over each plane of X[batch * channels][plane_size], with one scale
/// and one bias per channel ([channels], row index modulo channels; null for 1 and 0).
void instance_norm(int64_t batch, int64_t channels, int64_t plane_size, const float* x, float* y,
                   const float* scale, const float* bias, float epsilon, ThreadPool& pool);

/// Values are part of the kernels' calling convention: append only.
enum class Reduction : int32_t { sum, mean, max, min, sum_square, product, l1, l2 };

/// Y[outer][inner] = reduction of X[outer][extent][inner] over the middle. An empty extent gives the neutral
/// element (mean: NaN). Maximum and minimum return NaN if any element is.
void reduce(Reduction reduction, AxisView view, const float* x, float* y, ThreadPool& pool);

}  // namespace axrun::runtime
