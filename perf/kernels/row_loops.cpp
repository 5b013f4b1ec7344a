#include "perf/kernels/row_loops.h"

#include <algorithm>
#include <cmath>

namespace axrun::perf {

void rms_norm_rows(int64_t rows, int64_t columns, const float* x, const float* scale, float* y) {
  for (int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    float sum = 0;
    for (int64_t i = 0; i < columns; ++i) sum += x[i] * x[i];
    const float factor = 1 / std::sqrt(sum / static_cast<float>(columns) + norm_epsilon);
    for (int64_t i = 0; i < columns; ++i) y[i] = x[i] * factor * scale[i];
  }
}

void softmax_rows(int64_t rows, int64_t columns, float* x, float scale, const float* mask) {
  for (int64_t row = 0; row < rows; ++row, x += columns, mask += columns) {
    float largest = x[0] * scale + mask[0];
    for (int64_t i = 0; i < columns; ++i) {
      x[i] = x[i] * scale + mask[i];
      largest = std::max(largest, x[i]);
    }
    float sum = 0;
    for (int64_t i = 0; i < columns; ++i) {
      x[i] = std::exp(x[i] - largest);
      sum += x[i];
    }
    const float factor = 1 / sum;
    for (int64_t i = 0; i < columns; ++i) x[i] *= factor;
  }
}

void multiply(int64_t count, const float* a, const float* b, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = a[i] * b[i];
}

void silu_multiply(int64_t count, const float* gate, const float* up, float* y) {
  for (int64_t i = 0; i < count; ++i) y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
}

void bias_relu_rows(int64_t rows, int64_t columns, const float* bias, float* y) {
  for (int64_t row = 0; row < rows; ++row, y += columns) {
    for (int64_t i = 0; i < columns; ++i) y[i] = std::max(y[i] + bias[row], 0.0f);
  }
}

void copy_strided(int64_t count, const float* from, int64_t stride, float* to) {
  if (stride == 1) {
    std::copy_n(from, count, to);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

}  // namespace axrun::perf
