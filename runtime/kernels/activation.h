#pragma once

#include <cstdint>

namespace axrun::runtime {

/// A function applied to each element of a result. `alpha` and `beta` are the ONNX attributes of that name.
/// Values are part of the kernels' calling convention: append only.
enum class Activation : int32_t {
  none,
  relu,          ///< max(x, 0); NaN stays NaN
  leaky_relu,    ///< x < 0 ? alpha * x : x
  clip,          ///< min(max(x, alpha), beta)
  sigmoid,       ///< 1 / (1 + exp(-x))
  tanh,          ///< tanh(x)
  hard_sigmoid,  ///< min(max(alpha * x + beta, 0), 1)
  hard_swish,    ///< x * min(max(x / 6 + 0.5, 0), 1)
  silu,          ///< x * sigmoid(x)
  gelu_erf,      ///< 0.5 * x * (1 + erf(x / sqrt(2)))
  gelu_tanh,     ///< 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
};

/// What happens to a contraction's sum on its way to memory:
///   result[i][j] = activation(scale * row_factor[i] * column_factor[j] * sum[i][j]
///                             + row_bias[i] + column_bias[j]
///                             + residual_scale * residual[i][j])
/// Absent parts are null. `residual` may be the output itself (element for element); otherwise it must not
/// overlap the output. Columns of `residual` are contiguous. For a convolution rows are output channels and
/// columns are output pixels.
struct Epilogue {
  float scale = 1.0f;
  const float* row_factor = nullptr;
  const float* column_factor = nullptr;
  const float* row_bias = nullptr;
  const float* column_bias = nullptr;
  const float* residual = nullptr;
  int64_t residual_row_stride = 0;  ///< in elements; 0 repeats one row
  float residual_scale = 1.0f;
  Activation activation = Activation::none;
  float alpha = 0.0f;
  float beta = 0.0f;
};

}  // namespace axrun::runtime
