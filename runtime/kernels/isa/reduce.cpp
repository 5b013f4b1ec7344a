#include "runtime/kernels/isa/math.h"
#include "runtime/kernels/isa/rows.h"
#include "runtime/kernels/rows.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

// A reduction is a start value, a step that takes one more element, a merge of two partial results and an
// ending. Steps of maximum and minimum keep NaN: a comparison with NaN is false, so it is tested for.
struct Sum {
  static constexpr float start = 0.0f;
  AXRUN_INLINE Vector step(Vector sum, Vector x) { return sum + x; }
  AXRUN_INLINE Vector merge(Vector a, Vector b) { return a + b; }
  AXRUN_INLINE Vector finish(Vector sum, int64_t) { return sum; }
};
struct Mean : Sum {
  AXRUN_INLINE Vector finish(Vector sum, int64_t count) { return sum / broadcast(static_cast<float>(count)); }
};
struct SumOfSquares : Sum {
  AXRUN_INLINE Vector step(Vector sum, Vector x) { return fused(x, x, sum); }
};
struct L1 : Sum {
  AXRUN_INLINE Vector step(Vector sum, Vector x) { return sum + absolute(x); }
};
struct L2 : SumOfSquares {
  AXRUN_INLINE Vector finish(Vector sum, int64_t) { return square_root(sum); }
};
struct Product {
  static constexpr float start = 1.0f;
  AXRUN_INLINE Vector step(Vector product, Vector x) { return product * x; }
  AXRUN_INLINE Vector merge(Vector a, Vector b) { return a * b; }
  AXRUN_INLINE Vector finish(Vector product, int64_t) { return product; }
};
struct Maximum {
  static constexpr float start = -__builtin_inff();
  AXRUN_INLINE Vector step(Vector best, Vector x) {
    const Vector chosen = x > best ? x : best;
    return x != x ? x : chosen;
  }
  AXRUN_INLINE Vector merge(Vector a, Vector b) { return step(a, b); }
  AXRUN_INLINE Vector finish(Vector best, int64_t) { return best; }
};
struct Minimum {
  static constexpr float start = __builtin_inff();
  AXRUN_INLINE Vector step(Vector best, Vector x) {
    const Vector chosen = x < best ? x : best;
    return x != x ? x : chosen;
  }
  AXRUN_INLINE Vector merge(Vector a, Vector b) { return step(a, b); }
  AXRUN_INLINE Vector finish(Vector best, int64_t) { return best; }
};

/// Takes the first `count` lanes from `updated`, the others from `kept`.
AXRUN_INLINE Vector keep_past_end(Vector updated, Vector kept, int64_t count) {
  for (int64_t lane = count; lane < lanes; ++lane) updated[lane] = kept[lane];
  return updated;
}

template <class R>
float reduce_row_by(int64_t count, const float* x) {
  Vector part[4];
  for (Vector& p : part) p = broadcast(R::start);
  int64_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) part[j] = R::step(part[j], load(x + i + j * lanes));
  }
  for (; i + lanes <= count; i += lanes) part[0] = R::step(part[0], load(x + i));
  if (i < count) {
    const Vector updated = R::step(part[0], load(x + i, first_lanes(count - i)));
    part[0] = keep_past_end(updated, part[0], count - i);
  }
  Vector total = R::merge(R::merge(part[0], part[1]), R::merge(part[2], part[3]));
  // Halves onto each other until lane 0 holds everything.
  for (int half = lanes / 2; half > 0; half /= 2) {
    Vector moved = total;
    for (int lane = 0; lane < half; ++lane) moved[lane] = total[lane + half];
    total = R::merge(total, moved);
  }
  return R::finish(total, count)[0];
}

template <class R>
void reduce_columns_by(int64_t extent, int64_t inner, int64_t inner0, int64_t inner1, const float* x,
                       float* y) {
  int64_t column = inner0;
  for (; column + 4 * lanes <= inner1; column += 4 * lanes) {
    Vector part[4];
    for (Vector& p : part) p = broadcast(R::start);
    for (int64_t i = 0; i < extent; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) part[j] = R::step(part[j], load(x + i * inner + column + j * lanes));
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) store(y + column + j * lanes, R::finish(part[j], extent));
  }
  for (; column < inner1; column += lanes) {
    const Mask mask = first_lanes(smaller<int64_t>(lanes, inner1 - column));
    Vector part = broadcast(R::start);
    for (int64_t i = 0; i < extent; ++i) part = R::step(part, load(x + i * inner + column, mask));
    store(y + column, R::finish(part, extent), mask);
  }
}

}  // namespace

#define AXRUN_REDUCTIONS(CASE)   \
  CASE(sum, Sum)                 \
  CASE(mean, Mean)               \
  CASE(max, Maximum)             \
  CASE(min, Minimum)             \
  CASE(sum_square, SumOfSquares) \
  CASE(product, Product)         \
  CASE(l1, L1)                   \
  CASE(l2, L2)

float reduce_row(Reduction reduction, int64_t count, const float* x) {
  switch (reduction) {
#define AXRUN_CASE(name, type) \
  case Reduction::name:        \
    return reduce_row_by<type>(count, x);
    AXRUN_REDUCTIONS(AXRUN_CASE)
#undef AXRUN_CASE
  }
  return 0.0f;
}

void reduce_columns(Reduction reduction, int64_t extent, int64_t inner, int64_t inner0, int64_t inner1,
                    const float* x, float* y) {
  switch (reduction) {
#define AXRUN_CASE(name, type) \
  case Reduction::name:        \
    return reduce_columns_by<type>(extent, inner, inner0, inner1, x, y);
    AXRUN_REDUCTIONS(AXRUN_CASE)
#undef AXRUN_CASE
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
