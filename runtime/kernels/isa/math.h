#pragma once

// Elementary functions on vectors: at most a few units in the last place from the exact value everywhere,
// with C's results for NaN, infinities, signed zeros and denormals. The polynomials are weighted minimax fits
// on the reduced ranges named beside them.

#include "runtime/kernels/isa/vector.h"

namespace axrun::runtime::AXRUN_ISA {

typedef uint32_t Unsigned __attribute__((vector_size(vector_bytes)));

inline constexpr int32_t sign_bit = -0x7fffffff - 1;

AXRUN_INLINE Vector absolute(Vector x) { return as_float(as_int(x) & broadcast(int32_t{0x7fffffff})); }
AXRUN_INLINE Vector with_sign_of(Vector magnitude, Vector sign) {
  return as_float((as_int(magnitude) & broadcast(int32_t{0x7fffffff})) |
                  (as_int(sign) & broadcast(sign_bit)));
}

template <int count>
AXRUN_INLINE Vector polynomial(Vector x, const float (&coefficients)[count]) {
  Vector sum = broadcast(coefficients[count - 1]);
#pragma GCC unroll 16
  for (int i = count - 2; i >= 0; --i) sum = fused(sum, x, broadcast(coefficients[i]));
  return sum;
}

/// a / b, to a unit in the last place, where b and the quotient are ordinary numbers: a division takes as
/// long as a dozen multiplications.
AXRUN_INLINE Vector quotient(Vector a, Vector b) {
#if defined(AXRUN_ISA_avx512)
  const Vector inverse = _mm512_rcp14_ps(b);
  const Vector near = a * inverse;
  return fused(fused(-near, b, a), inverse, near);
#else
  return a / b;
#endif
}

/// x * 2^n for n in [-280, 280], one rounding.
AXRUN_INLINE Vector scale_by_power(Vector x, IntVector n) {
#if defined(AXRUN_ISA_avx512)
  return _mm512_scalef_ps(x, to_float(n));
#else
  const IntVector half = n >> 1;
  const IntVector bias = broadcast(int32_t{127});
  return x * as_float((half + bias) << 23) * as_float((n - half + bias) << 23);
#endif
}

AXRUN_INLINE Vector exponential(Vector x) {
  // |r| <= ln(2) / 2 in exp(x) = 2^n exp(r). ln(2)'s high part has 12 bits, so n times it is exact.
  static constexpr float tail[] = {0.4999999343f, 0.1666652046f, 0.04166839067f, 0.008368735961f,
                                   0.001381450648f};
  x = minimum(broadcast(89.0f), maximum(broadcast(-104.0f), x));
  const IntVector n = round_to_int(x * broadcast(1.44269504f));
  const Vector whole = to_float(n);
  Vector r = fused(whole, broadcast(-0.693115234375f), x);
  r = fused(whole, broadcast(-3.194618494530e-5f), r);
  const Vector result = broadcast(1.0f) + fused(r * r, polynomial(r, tail), r);
  return scale_by_power(result, n);
}

AXRUN_INLINE Vector logarithm(Vector x) {
  // x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)].
  static constexpr float tail[] = {0.3333331258f,  -0.2500000958f, 0.2000211987f,
                                   -0.1666799706f, 0.1421953236f,  -0.1240556345f,
                                   0.118882719f,   -0.1167581199f, 0.06746586803f};
  const auto tiny = x < broadcast(1.17549435e-38f);
  const Vector normal = tiny ? x * broadcast(8388608.0f) : x;
  // Unsigned: the bits of negative numbers and NaN, whose result is replaced below, wrap around.
  const IntVector bits = reinterpret_cast<IntVector>(
      reinterpret_cast<Unsigned>(normal) - reinterpret_cast<Unsigned>(broadcast(int32_t{0x3f3504f3})));
  IntVector exponent = bits >> 23;
  const Vector f =
      as_float((bits & broadcast(int32_t{0x007fffff})) + broadcast(int32_t{0x3f3504f3})) - broadcast(1.0f);
  exponent = tiny ? exponent - broadcast(int32_t{23}) : exponent;
  const Vector e = to_float(exponent);
  const Vector square = f * f;
  Vector low = fused(square * f, polynomial(f, tail), e * broadcast(-2.12194440e-4f));
  low = fused(square, broadcast(-0.5f), low);
  Vector result = fused(e, broadcast(0.693359375f), f + low);
  const Vector infinity = broadcast(__builtin_inff());
  result = x == infinity ? infinity : result;
  result = x == broadcast(0.0f) ? -infinity : result;
  return x >= broadcast(0.0f) ? result : broadcast(__builtin_nanf(""));
}

/// log(1 + x) for x >= 0: the rounding of 1 + x is put right to first order.
AXRUN_INLINE Vector logarithm_plus_one(Vector x) {
  const Vector sum = broadcast(1.0f) + x;
  return logarithm(sum) + (x - (sum - broadcast(1.0f))) / sum;
}

AXRUN_INLINE Vector softplus(Vector x) {
  return maximum(broadcast(0.0f), x) + logarithm_plus_one(exponential(-absolute(x)));
}

AXRUN_INLINE Vector sigmoid(Vector x) {
  const Vector e = exponential(-absolute(x));
  const Vector one = broadcast(1.0f);
  return quotient(x < broadcast(0.0f) ? e : one, one + e);
}

AXRUN_INLINE Vector hyperbolic_tangent(Vector x) {
  // Odd polynomial where 1 - 2 / (exp(2|x|) + 1) would cancel.
  static constexpr float tail[] = {-0.3333328392f, 0.1333149106f, -0.05374348182f, 0.02065053961f,
                                   -0.005716996317f};
  const Vector magnitude = absolute(x);
  const Vector square = x * x;
  const Vector small = fused(x * square, polynomial(square, tail), x);
  const Vector one = broadcast(1.0f);
  const Vector large = one - broadcast(2.0f) / (exponential(magnitude + magnitude) + one);
  return with_sign_of(magnitude < broadcast(0.625f) ? small : large, x);
}

/// exp(x) - 1.
AXRUN_INLINE Vector exponential_minus_one(Vector x) {
  // Near zero the subtraction would cancel; exp's own polynomial gives the rest without the 1.
  static constexpr float tail[] = {0.4999999343f, 0.1666652046f, 0.04166839067f, 0.008368735961f,
                                   0.001381450648f};
  const Vector small = fused(x * x, polynomial(x, tail), x);
  return absolute(x) < broadcast(0.34f) ? small : exponential(x) - broadcast(1.0f);
}

/// exp(-factor * x^2) for x >= 0 and a factor of 1 or 1/2. The square is taken in two parts, the first of
/// them exact: exp would magnify its rounding error.
AXRUN_INLINE Vector gaussian(Vector x, float factor) {
  static constexpr float small_exponential[] = {1.0f, -1.0f, 0.5f, -0.1666666667f, 0.04166666667f};
  const Vector high = as_float(as_int(x) & broadcast(int32_t{~0xfff}));
  const Vector rest = (x - high) * (x + high) * broadcast(factor);
  return exponential(high * high * broadcast(-factor)) * polynomial(rest, small_exponential);
}

/// exp(t^2) erfc(t) for t >= 0: a smooth function of (t - 2) / (t + 2), divided by t + 2.
AXRUN_INLINE Vector scaled_complementary_error(Vector t) {
  static constexpr float smooth[] = {1.021582719f,      -0.6871609481f,  0.2794711718f,  -0.03643547954f,
                                     -0.0214990108f,    0.006434243261f, 0.00302926741f, -0.0007302869878f,
                                     -0.0005135384947f, -3.687140824e-5f};
  const Vector inverse = quotient(broadcast(1.0f), t + broadcast(2.0f));
  return polynomial((t - broadcast(2.0f)) * inverse, smooth) * inverse;
}

AXRUN_INLINE Vector error_function(Vector x) {
  // x P(x^2) / Q(x^2), a weighted minimax fit for |x| <= 3.92, from where on erf rounds to 1.
  static constexpr float above[] = {1.128379107f,    0.1904074699f,   0.05274886265f,
                                    0.003765661269f, 2.848839504e-4f, 2.050082685e-6f};
  static constexpr float below[] = {1.0f,          0.5020769835f,   0.114109531f,
                                    0.0149693051f, 0.001162546687f, 3.809172995e-5f};
  const Vector one = broadcast(1.0f);
  const Vector bounded = maximum(broadcast(-3.92f), minimum(broadcast(3.92f), x));
  const Vector square = bounded * bounded;
  const Vector result = bounded * quotient(polynomial(square, above), polynomial(square, below));
  return maximum(-one, minimum(one, result));
}

AXRUN_INLINE Vector gelu_erf(Vector x) {
  // x times the normal distribution's mass below x, by its tail on the side where that is small.
  const Vector bounded = minimum(broadcast(14.9f), absolute(x));
  const Vector tail = broadcast(0.5f) * gaussian(bounded, 0.5f) *
                      scaled_complementary_error(bounded * broadcast(0.70710678f));
  return x * (x < broadcast(0.0f) ? tail : broadcast(1.0f) - tail);
}

/// The same by erf itself: where the tail is small, its error is one of 1, which decompositions have as well.
AXRUN_INLINE Vector gelu_by_erf(Vector x) {
  return broadcast(0.5f) * x * (broadcast(1.0f) + error_function(x * broadcast(0.70710678f)));
}

AXRUN_INLINE Vector gelu_tanh(Vector x) {
  // 0.5 (1 + tanh(u)) = sigmoid(2u), which keeps the relative accuracy of the negative side.
  const Vector inner = fused(x * x, broadcast(0.044715f * 1.5957691216f), broadcast(1.5957691216f)) * x;
  return x * sigmoid(inner);
}

/// Sine and cosine with the same reduction: |x| <= 20000 by three exact products, beyond by the C library,
/// lane by lane.
template <bool cosine>
AXRUN_INLINE Vector sine_or_cosine(Vector x) {
  static constexpr float sine_tail[] = {-0.1666666664f, 0.008333329355f, -0.0001983932485f, 2.718215555e-6f};
  static constexpr float cosine_tail[] = {0.04166666662f, -0.001388888371f, 2.479950939e-5f,
                                          -2.720935073e-7f};
  const IntVector quadrant = round_to_int(x * broadcast(0.6366197724f));
  const Vector n = to_float(quadrant);
  Vector r = fused(n, broadcast(-1.5703125f), x);
  r = fused(n, broadcast(-0.00048398971557617188f), r);
  r = fused(n, broadcast(1.6298145055770874e-7f), r);
  r = fused(n, broadcast(-6.0771005065061926e-11f), r);
  const Vector square = r * r;
  const Vector sine = fused(r * square, polynomial(square, sine_tail), r);
  const Vector cosine_value = fused(square * square, polynomial(square, cosine_tail),
                                    fused(square, broadcast(-0.5f), broadcast(1.0f)));
  const IntVector turn = cosine ? quadrant + broadcast(int32_t{1}) : quadrant;
  const Vector chosen = (turn & broadcast(int32_t{1})) != broadcast(int32_t{0}) ? cosine_value : sine;
  Vector result = as_float(as_int(chosen) ^ ((turn & broadcast(int32_t{2})) << 30));
  // sin(-0) is -0: the reduction has lost the sign.
  if (!cosine) result = x == broadcast(0.0f) ? x : result;
  if (any(absolute(x) > broadcast(20000.0f)) || any(x != x)) {
    for (int lane = 0; lane < lanes; ++lane) {
      if (!(__builtin_fabsf(x[lane]) <= 20000.0f)) {
        result[lane] = cosine ? __builtin_cosf(x[lane]) : __builtin_sinf(x[lane]);
      }
    }
  }
  return result;
}

}  // namespace axrun::runtime::AXRUN_ISA
