#pragma once

#include "runtime/kernels/activation.h"
#include "runtime/kernels/isa/math.h"

namespace axrun::runtime::AXRUN_ISA {

/// x * sigmoid(x), and 0 where sigmoid's results would be denormals, x < -87.3: then there are none, neither
/// here nor in the product that reads the result, each of which costs a hundred cycles. Off by 1e-36 at most.
AXRUN_INLINE Vector silu_without_denormals(Vector x) {
  const Vector least = broadcast(-87.3f);
  const Vector factor = sigmoid(maximum(least, x));
  return x * (x < least ? Vector{} : factor);
}

/// One activation on a vector; `activation` is a constant where this is inlined.
AXRUN_INLINE Vector activation_of(Activation activation, Vector x, Vector alpha, Vector beta) {
  const Vector zero = {};
  const Vector one = broadcast(1.0f);
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return maximum(zero, x);
    case Activation::leaky_relu:
      return x < zero ? alpha * x : x;
    case Activation::clip:
      return minimum(beta, maximum(alpha, x));
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::tanh:
      return hyperbolic_tangent(x);
    case Activation::hard_sigmoid:
      return minimum(one, maximum(zero, fused(alpha, x, beta)));
    case Activation::hard_swish:
      return x * minimum(one, maximum(zero, fused(x, broadcast(1.0f / 6.0f), broadcast(0.5f))));
    case Activation::silu:
      return silu_without_denormals(x);
    case Activation::gelu_erf:
      return gelu_erf(x);
    case Activation::gelu_tanh:
      return gelu_tanh(x);
  }
  return x;
}

/// Applies `function` (Vector -> Vector) to an array.
template <class Function>
AXRUN_INLINE void map_array(int64_t count, const float* x, float* y, Function function) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(y + i, function(load(x + i)));
  if (i < count) {
    const Mask mask = first_lanes(count - i);
    store(y + i, function(load(x + i, mask)), mask);
  }
}

/// The same for `rows` rows of 1 to 2 * lanes elements, in place: the results of a register tile.
template <class Function>
AXRUN_INLINE void map_tile(int64_t rows, int64_t columns, float* y, int64_t stride, Function function) {
  const int64_t whole = columns > lanes ? lanes : 0;
  const Mask mask = first_lanes(columns - whole);
  for (int64_t i = 0; i < rows; ++i, y += stride) {
    if (whole > 0) store(y, function(load(y)));
    store(y + whole, function(load(y + whole, mask)), mask);
  }
}

/// Out of line: defined in math.cpp.
void activate_tile(Activation activation, int64_t rows, int64_t columns, float* y, int64_t stride,
                   float alpha, float beta);
void activate(Activation activation, int64_t count, const float* x, float* y, float alpha, float beta);

}  // namespace axrun::runtime::AXRUN_ISA
