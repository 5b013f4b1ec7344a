#include "runtime/kernels/isa/rows.h"

#include "runtime/kernels/isa/activation.h"
#include "runtime/kernels/isa/math.h"
#include "runtime/kernels/rows.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Calls body(i, read, write) for each vector of [0, count), the last one masked.
template <class Body>
AXRUN_INLINE void for_vectors(int64_t count, Body body) {
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    body(
        i, [](const float* p) __attribute__((always_inline)) { return load(p); },
        [](float* p, Vector v) __attribute__((always_inline)) { store(p, v); });
  }
  if (i < count) {
    const Mask mask = first_lanes(count - i);
    body(
        i, [&](const float* p) __attribute__((always_inline)) { return load(p, mask); },
        [&](float* p, Vector v) __attribute__((always_inline)) { store(p, v, mask); });
  }
}

AXRUN_INLINE Vector larger_of(Vector a, Vector b) { return a > b ? a : b; }

float largest(int64_t count, const float* x) {
  float best = -__builtin_inff();
  int64_t i = 0;
  if (count >= lanes) {
    Vector a = load(x), b = a;
    for (i = lanes; i + 2 * lanes <= count; i += 2 * lanes) {
      a = larger_of(load(x + i), a);
      b = larger_of(load(x + i + lanes), b);
    }
    a = larger_of(a, b);
    // The last vectors may overlap what was seen.
    for (; i < count; i += lanes) a = larger_of(load(x + smaller(i, count - lanes)), a);
    for (int lane = 0; lane < lanes; ++lane) best = a[lane] > best ? a[lane] : best;
    return best;
  }
  for (; i < count; ++i) best = x[i] > best ? x[i] : best;
  return best;
}

float short_sum(int64_t count, const float* x) {
  Vector a = {}, b = {};
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    a += load(x + i);
    b += load(x + i + lanes);
  }
  for (; i < count; i += lanes) a += load(x + i, first_lanes(smaller<int64_t>(lanes, count - i)));
  return sum_lanes(a + b);
}

/// Sums of long rows are made of short ones, added in double precision: a plane of an image has a million
/// elements.
constexpr int64_t short_row = 4096;

float sum_of(int64_t count, const float* x) {
  if (count <= short_row) return short_sum(count, x);
  double sum = 0.0;
  for (int64_t i = 0; i < count; i += short_row) {
    sum += static_cast<double>(short_sum(smaller(short_row, count - i), x + i));
  }
  return static_cast<float>(sum);
}

/// Sum of (x - center)^2.
float short_sum_of_squares(int64_t count, const float* x, float center) {
  const Vector c = broadcast(center);
  Vector a = {}, b = {};
  int64_t i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    const Vector u = load(x + i) - c;
    const Vector v = load(x + i + lanes) - c;
    a = fused(u, u, a);
    b = fused(v, v, b);
  }
  for (; i + lanes <= count; i += lanes) {
    const Vector u = load(x + i) - c;
    a = fused(u, u, a);
  }
  float sum = sum_lanes(a + b);
  for (; i < count; ++i) sum += (x[i] - center) * (x[i] - center);
  return sum;
}

float sum_of_squares(int64_t count, const float* x, float center) {
  if (count <= short_row) return short_sum_of_squares(count, x, center);
  double sum = 0.0;
  for (int64_t i = 0; i < count; i += short_row) {
    sum += static_cast<double>(short_sum_of_squares(smaller(short_row, count - i), x + i, center));
  }
  return static_cast<float>(sum);
}

}  // namespace

void softmax_row(bool log_of, int64_t count, const float* x, float* y) {
  const float shift = largest(count, x);
  const Vector s = broadcast(shift);
  Vector sum = {};
  if (log_of) {
    int64_t i = 0;
    for (; i + lanes <= count; i += lanes) sum += exponential(load(x + i) - s);
    float total = sum_lanes(sum);
    if (i < count) {
      const Vector last = exponential(load(x + i, first_lanes(count - i)) - s);
      for (int64_t lane = 0; lane < count - i; ++lane) total += last[lane];
    }
    const Vector offset = logarithm(broadcast(total));
    map_array(
        count, x, y, [&](Vector v) __attribute__((always_inline)) { return (v - s) - offset; });
    return;
  }
  for_vectors(
      count, [&](int64_t i, auto read, auto write)
                 __attribute__((always_inline)) { write(y + i, exponential(read(x + i) - s)); });
  const Vector inverse = broadcast(1.0f / sum_of(count, y));
  map_array(
      count, y, y, [&](Vector v) __attribute__((always_inline)) { return v * inverse; });
}

void softmax_columns(bool log_of, int64_t extent, int64_t inner, int64_t inner0, int64_t inner1,
                     const float* x, float* y) {
  for_vectors(
      inner1 - inner0, [&](int64_t at, auto read, auto write) __attribute__((always_inline)) {
        const float* from = x + inner0 + at;
        float* to = y + inner0 + at;
        Vector shift = broadcast(-__builtin_inff());
        for (int64_t i = 0; i < extent; ++i) shift = larger_of(read(from + i * inner), shift);
        Vector sum = {};
        if (log_of) {
          for (int64_t i = 0; i < extent; ++i) sum += exponential(read(from + i * inner) - shift);
          const Vector offset = logarithm(sum);
          for (int64_t i = 0; i < extent; ++i)
            write(to + i * inner, (read(from + i * inner) - shift) - offset);
          return;
        }
        for (int64_t i = 0; i < extent; ++i) {
          const Vector e = exponential(read(from + i * inner) - shift);
          sum += e;
          write(to + i * inner, e);
        }
        const Vector inverse = broadcast(1.0f) / sum;
        for (int64_t i = 0; i < extent; ++i) write(to + i * inner, read(to + i * inner) * inverse);
      });
}

void normalize_row(bool subtract_mean, int64_t count, const float* x, const float* scale, const float* bias,
                   bool scalar_scale, float epsilon, float* y, float* mean, float* inverse_deviation) {
  const auto n = static_cast<float>(count);
  const float center = subtract_mean ? sum_of(count, x) / n : 0.0f;
  const float variance = sum_of_squares(count, x, center) / n;
  const float inverse = 1.0f / __builtin_sqrtf(variance + epsilon);
  if (mean != nullptr) *mean = center;
  if (inverse_deviation != nullptr) *inverse_deviation = inverse;
  const Vector c = broadcast(center);
  if (scalar_scale) {
    const Vector factor = broadcast(scale == nullptr ? inverse : inverse * *scale);
    const Vector shift = broadcast(bias == nullptr ? 0.0f : *bias);
    map_array(
        count, x, y, [&](Vector v) __attribute__((always_inline)) { return fused(v - c, factor, shift); });
    return;
  }
  const Vector factor = broadcast(inverse);
  for_vectors(
      count, [&](int64_t i, auto read, auto write) __attribute__((always_inline)) {
        Vector value = (read(x + i) - c) * factor;
        if (scale != nullptr) value *= read(scale + i);
        if (bias != nullptr) value += read(bias + i);
        write(y + i, value);
      });
}

}  // namespace axrun::runtime::AXRUN_ISA
