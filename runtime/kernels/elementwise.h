#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/activation.h"

namespace axrun::runtime {

class ThreadPool;

/// Functions of one float32. Values are part of the kernels' calling convention: append only.
/// Accuracy: within 4 units in the last place or 1e-6 relative (gelu_tanh: 3e-5; see gelu_by_erf) of the
/// exact value, over the whole range; denormal results within 128 of their unit; infinities, NaN and signed
/// zeros as C's functions.
enum class Unary : int32_t {
  exp,
  log,
  tanh,
  sigmoid,
  erf,
  sin,
  cos,
  sqrt,
  softplus,  ///< log(1 + exp(x)), exact for large |x|
  gelu_erf,
  gelu_tanh,
  silu,
  relu,
  leaky_relu,
  clip,
  hard_sigmoid,
  hard_swish,
  absolute,
  negate,
  reciprocal,
  reciprocal_sqrt,
  square,
  floor,
  ceil,
  round_even,
  sign,
  elu,       ///< x < 0 ? alpha * (exp(x) - 1) : x
  selu,      ///< beta * (x <= 0 ? alpha * (exp(x) - 1) : x)
  softsign,  ///< x / (1 + |x|)
  mish,      ///< x * tanh(softplus(x))
  affine,    ///< alpha * x + beta
  /// x (1 + erf(x / sqrt(2))) / 2 as it is written: below 0, what erf rounds off counts, up to 2e-7 |x|.
  gelu_by_erf,
};

/// y[i] = function(x[i]); y may be x. alpha and beta as in Activation (clip: bounds).
void unary(Unary function, int64_t count, const float* x, float* y, float alpha, float beta,
           ThreadPool& pool);
void activate(Activation activation, int64_t count, const float* x, float* y, float alpha, float beta,
              ThreadPool& pool);

/// y[o][c][i] = activation(x[o][c][i] * scale[c] + bias[c]) on X[outer][channels][inner]: batch normalization
/// with its parameters folded. y may be x.
void channel_affine(int64_t outer, int64_t channels, int64_t inner, const float* x, const float* scale,
                    const float* bias, Activation activation, float alpha, float beta, float* y,
                    ThreadPool& pool);

enum class Number : int32_t { f32, f64, i32, i64 };

/// Arithmetic of two operands of one type, giving that type. Integers wrap around; integer x / 0 is 0 and x
/// mod 0 is 0 (no trap); integer power by squaring, negative exponents give the truncated reciprocal (0,
/// except bases 1 and -1).
enum class Binary : int32_t {
  add,
  subtract,
  multiply,
  divide,   ///< integers truncate towards zero
  minimum,  ///< NaN if either is
  maximum,
  power,
  modulo,  ///< sign of the divisor (ONNX Mod with fmod = 0; floats too)
  fmod,    ///< sign of the dividend
  prelu,   ///< a < 0 ? a * b : a
};

/// Comparisons give one byte, 0 or 1.
enum class Comparison : int32_t { equal, not_equal, less, less_equal, greater, greater_equal };

inline constexpr int max_rank = 8;

/// Two operands broadcast to one contiguous output of shape extents[rank], outermost first. Strides in
/// elements; 0 broadcasts. Dims of extent 1 and dims that can be merged cost nothing. Rank 0 is one element.
struct Broadcast {
  int rank = 0;
  int64_t extents[max_rank] = {};
  int64_t a_strides[max_rank] = {};
  int64_t b_strides[max_rank] = {};
};

/// y = a op b. y may be a or b where that operand has the output's shape.
void binary(Binary operation, Number type, const Broadcast& broadcast, const void* a, const void* b, void* y,
            ThreadPool& pool);
void compare(Comparison operation, Number type, const Broadcast& broadcast, const void* a, const void* b,
             uint8_t* y, ThreadPool& pool);

/// y = condition ? a : b for elements of 1, 2, 4 or 8 bytes; condition bytes are 0 or not.
struct BroadcastSelect {
  int rank = 0;
  int64_t extents[max_rank] = {};
  int64_t condition_strides[max_rank] = {};
  int64_t a_strides[max_rank] = {};
  int64_t b_strides[max_rank] = {};
};
void select(size_t element_bytes, const BroadcastSelect& broadcast, const uint8_t* condition, const void* a,
            const void* b, void* y, ThreadPool& pool);

}  // namespace axrun::runtime
