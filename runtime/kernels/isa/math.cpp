#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/isa/activation.h"
#include "runtime/kernels/isa/unary.h"

namespace axrun::runtime::AXRUN_ISA {

namespace {

/// Calls `run` with the activation as a function of a vector. One loop per activation: the constant lets the
/// vector function be inlined.
template <class Run>
AXRUN_INLINE void with_activation(Activation activation, float alpha, float beta, Run run) {
  const Vector a = broadcast(alpha);
  const Vector b = broadcast(beta);
  switch (activation) {
#define AXRUN_CASE(name)                                                                                    \
  case Activation::name:                                                                                    \
    run([&](Vector v) __attribute__((always_inline)) { return activation_of(Activation::name, v, a, b); }); \
    break;
    AXRUN_CASE(none)
    AXRUN_CASE(relu)
    AXRUN_CASE(leaky_relu)
    AXRUN_CASE(clip)
    AXRUN_CASE(sigmoid)
    AXRUN_CASE(tanh)
    AXRUN_CASE(hard_sigmoid)
    AXRUN_CASE(hard_swish)
    AXRUN_CASE(silu)
    AXRUN_CASE(gelu_erf)
    AXRUN_CASE(gelu_tanh)
#undef AXRUN_CASE
  }
}

}  // namespace

void activate(Activation activation, int64_t count, const float* x, float* y, float alpha, float beta) {
  with_activation(
      activation, alpha,
      beta, [&](auto function) __attribute__((always_inline)) { map_array(count, x, y, function); });
}

void activate_tile(Activation activation, int64_t rows, int64_t columns, float* y, int64_t stride,
                   float alpha, float beta) {
  with_activation(
      activation, alpha, beta, [&](auto function) __attribute__((always_inline)) {
        map_tile(rows, columns, y, stride, function);
      });
}

void unary(Unary function, int64_t count, const float* x, float* y, float alpha, float beta) {
  const Vector a = broadcast(alpha);
  const Vector b = broadcast(beta);
  const Vector zero = {};
  const Vector one = broadcast(1.0f);
  switch (function) {
#define AXRUN_MAP(name, expression)                                                                \
  case Unary::name:                                                                                \
    map_array(                                                                                     \
        count, x, y, [&](Vector v) __attribute__((always_inline))->Vector { return expression; }); \
    break;
    AXRUN_MAP(exp, exponential(v))
    AXRUN_MAP(log, logarithm(v))
    AXRUN_MAP(tanh, hyperbolic_tangent(v))
    AXRUN_MAP(sigmoid, sigmoid(v))
    AXRUN_MAP(erf, error_function(v))
    AXRUN_MAP(sin, sine_or_cosine<false>(v))
    AXRUN_MAP(cos, sine_or_cosine<true>(v))
    AXRUN_MAP(sqrt, square_root(v))
    AXRUN_MAP(softplus, softplus(v))
    AXRUN_MAP(gelu_erf, gelu_erf(v))
    AXRUN_MAP(gelu_tanh, gelu_tanh(v))
    AXRUN_MAP(silu, v * sigmoid(v))
    AXRUN_MAP(relu, maximum(zero, v))
    AXRUN_MAP(leaky_relu, v < zero ? a * v : v)
    AXRUN_MAP(clip, minimum(b, maximum(a, v)))
    AXRUN_MAP(hard_sigmoid, minimum(one, maximum(zero, fused(a, v, b))))
    AXRUN_MAP(hard_swish, activation_of(Activation::hard_swish, v, a, b))
    AXRUN_MAP(absolute, absolute(v))
    AXRUN_MAP(negate, -v)
    AXRUN_MAP(reciprocal, one / v)
    AXRUN_MAP(reciprocal_sqrt, one / square_root(v))
    AXRUN_MAP(square, v * v)
    AXRUN_MAP(floor, round_down(v))
    AXRUN_MAP(ceil, round_up(v))
    AXRUN_MAP(round_even, round_even(v))
    AXRUN_MAP(sign, v > zero ? one : (v < zero ? -one : v))
    AXRUN_MAP(elu, v < zero ? a * exponential_minus_one(v) : v)
    AXRUN_MAP(selu, b * (v < zero ? a * exponential_minus_one(v) : v))
    AXRUN_MAP(softsign, v / (one + absolute(v)))
    AXRUN_MAP(mish, v * hyperbolic_tangent(softplus(v)))
    AXRUN_MAP(affine, fused(a, v, b))
    AXRUN_MAP(gelu_by_erf, gelu_by_erf(v))
#undef AXRUN_MAP
  }
}

void affine_row(int64_t count, const float* x, float scale, float bias, float* y) {
  unary(Unary::affine, count, x, y, scale, bias);
}

void affine_columns(int64_t count, const float* x, const float* scale, const float* bias, float* y) {
  for (int64_t i = 0; i < count; i += lanes) {
    const Mask mask = first_lanes(smaller<int64_t>(lanes, count - i));
    store(y + i, fused(load(x + i, mask), load(scale + i, mask), load(bias + i, mask)), mask);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
