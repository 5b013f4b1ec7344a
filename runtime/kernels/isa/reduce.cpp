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

AXRUN_INLINE IntVector lane_numbers() {
  IntVector numbers;
  for (int lane = 0; lane < lanes; ++lane) numbers[lane] = lane;
  return numbers;
}

/// Sets parts[0] to what `count` vectors hold, neighbouring lanes merged until each result has one. `count`
/// is a power of two; results lie in the order of their elements.
template <class R, int count>
AXRUN_INLINE void merge_neighbours(Vector* parts) {
#pragma GCC unroll 4
  for (int left = count / 2; left > 0; left /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < left; ++i)
      parts[i] = R::merge(every_second<0>(parts[2 * i], parts[2 * i + 1]),
                          every_second<1>(parts[2 * i], parts[2 * i + 1]));
  }
}

/// Rows of at most `padded` elements, a power of two: lanes / padded of them in a vector, in lanes that are
/// `padded` apart. A vector of results is merged from `padded` such vectors.
template <class R, int padded>
void reduce_short_rows(int64_t rows, int64_t extent, const float* x, float* y) {
  constexpr int per_vector = lanes / padded;
  const IntVector row = lane_numbers() / padded, at = lane_numbers() % padded;
  const IntVector used = at < broadcast(static_cast<int32_t>(extent));
  const IntVector from = row * static_cast<int32_t>(extent) + at;
  const Vector start = broadcast(R::start);
  const auto spread = [&](Vector x_lanes) {
    if (padded < lanes && extent != padded) x_lanes = permute(x_lanes, from);
    return used ? R::step(start, x_lanes) : start;
  };
  Vector parts[padded];
  const Mask all = first_lanes(per_vector * extent);
  for (; rows >= lanes; rows -= lanes, x += lanes * extent, y += lanes) {
#pragma GCC unroll 16
    for (int i = 0; i < padded; ++i) parts[i] = spread(load(x + i * per_vector * extent, all));
    merge_neighbours<R, padded>(parts);
    store(y, R::finish(parts[0], extent));
  }
  if (rows == 0) return;
  for (int i = 0; i < padded; ++i) {
    const int64_t present = larger<int64_t>(0, smaller<int64_t>(per_vector, rows - i * per_vector));
    parts[i] =
        present == 0 ? start : spread(load(x + i * per_vector * extent, first_lanes(present * extent)));
  }
  merge_neighbours<R, padded>(parts);
  store(y, R::finish(parts[0], extent), first_lanes(rows));
}

/// What the lanes of one vector hold of a row.
template <class R>
AXRUN_INLINE Vector reduce_to_vector(int64_t count, const float* x) {
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
    part[0] = lane_numbers() < broadcast(static_cast<int32_t>(count - i)) ? updated : part[0];
  }
  return R::merge(R::merge(part[0], part[1]), R::merge(part[2], part[3]));
}

/// Rows by themselves give the bits that they give among others: lanes are merged in the same order.
template <class R>
void reduce_long_rows(int64_t rows, int64_t extent, const float* x, float* y) {
  for (; rows >= lanes; rows -= lanes, x += lanes * extent, y += lanes) {
    Vector parts[lanes];
    for (int i = 0; i < lanes; ++i) parts[i] = reduce_to_vector<R>(extent, x + i * extent);
    merge_neighbours<R, lanes>(parts);
    store(y, R::finish(parts[0], extent));
  }
  for (; rows > 0; --rows, x += extent, ++y) {
    Vector total = reduce_to_vector<R>(extent, x);
    for (int left = lanes; left > 1; left /= 2)
      total = R::merge(every_second<0>(total, total), every_second<1>(total, total));
    *y = R::finish(total, extent)[0];
  }
}

template <class R>
void reduce_rows_by(int64_t rows, int64_t extent, const float* x, float* y) {
  if (extent > lanes) return reduce_long_rows<R>(rows, extent, x, y);
  if (extent <= 1) return reduce_short_rows<R, 1>(rows, extent, x, y);
  if (extent <= 2) return reduce_short_rows<R, 2>(rows, extent, x, y);
  if (extent <= 4) return reduce_short_rows<R, 4>(rows, extent, x, y);
  if constexpr (lanes >= 8)
    if (extent <= 8) return reduce_short_rows<R, 8>(rows, extent, x, y);
  if constexpr (lanes >= 16) return reduce_short_rows<R, 16>(rows, extent, x, y);
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

void reduce_rows(Reduction reduction, int64_t rows, int64_t extent, const float* x, float* y) {
  switch (reduction) {
#define AXRUN_CASE(name, type) \
  case Reduction::name:        \
    return reduce_rows_by<type>(rows, extent, x, y);
    AXRUN_REDUCTIONS(AXRUN_CASE)
#undef AXRUN_CASE
  }
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
