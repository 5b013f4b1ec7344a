// The plain loops around a library's products when an operator or a workload is composed of them. Compiled
// for the processor they are built on, with relaxed arithmetic, so that the compiler vectorises them whole,
// exponentials included.
#pragma once

#include <cstdint>

namespace axrun::perf {

inline constexpr float norm_epsilon = 1e-6f;

/// y = x / sqrt(mean(x^2) + norm_epsilon) * scale[columns], row by row; y may be x.
void rms_norm_rows(int64_t rows, int64_t columns, const float* x, const float* scale, float* y);

/// y = softmax(x * scale + mask), row by row and in place; mask[rows][columns] holds finite numbers.
void softmax_rows(int64_t rows, int64_t columns, float* x, float scale, const float* mask);

void multiply(int64_t count, const float* a, const float* b, float* y);
/// y = gate * sigmoid(gate) * up
void silu_multiply(int64_t count, const float* gate, const float* up, float* y);

/// y = relu(y + bias[row]), in place.
void bias_relu_rows(int64_t rows, int64_t columns, const float* bias, float* y);

/// to[i] = from[i * stride]
void copy_strided(int64_t count, const float* from, int64_t stride, float* to);

}  // namespace axrun::perf
