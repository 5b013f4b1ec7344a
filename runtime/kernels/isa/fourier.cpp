#include "runtime/kernels/isa/fourier.h"

#include "runtime/kernels/isa/copy.h"

#define AXRUN_INLINE_MEMBER inline __attribute__((always_inline))

namespace axrun::runtime::AXRUN_ISA {
namespace {

typedef double DoubleVector __attribute__((vector_size(vector_bytes)));
typedef float HalfVector __attribute__((vector_size(vector_bytes / 2)));
typedef float UnalignedHalfVector __attribute__((vector_size(vector_bytes / 2), aligned(4), may_alias));

AXRUN_INLINE void widen_to(double& to, const float* from) { to = static_cast<double>(*from); }
AXRUN_INLINE void widen_to(DoubleVector& to, const float* from) {
  to = __builtin_convertvector(static_cast<HalfVector>(*reinterpret_cast<const UnalignedHalfVector*>(from)),
                               DoubleVector);
}
AXRUN_INLINE void narrow_to(float* to, double from) { *to = static_cast<float>(from); }
AXRUN_INLINE void narrow_to(float* to, DoubleVector from) {
  *reinterpret_cast<UnalignedHalfVector*>(to) = __builtin_convertvector(from, HalfVector);
}

// D is DoubleVector, or double for a signal alone.

/// A complex number of each lane.
template <class D>
struct Point {
  D re, im;
};
template <class D>
AXRUN_INLINE Point<D> operator+(Point<D> a, Point<D> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class D>
AXRUN_INLINE Point<D> operator-(Point<D> a, Point<D> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class D>
AXRUN_INLINE Point<D> conjugate(Point<D> a) {
  return {a.re, -a.im};
}
/// By the number of all lanes at `root`.
template <class D>
AXRUN_INLINE Point<D> times(Point<D> a, const double* root) {
  return {a.re * root[0] - a.im * root[1], a.re * root[1] + a.im * root[0]};
}

template <class D>
class Transform {
 public:
  Transform(const FourierBatch& batch, Point<D>* spare)
      : factors_(batch.factors),
        levels_(batch.levels),
        length_(batch.length),
        roots_(batch.roots),
        spare_(spare) {}

  /// Of x[0], x[step], ... to y, which do not overlap; length * step is that of the whole transform.
  void part(const Point<D>* x, Point<D>* y, int64_t level, int64_t length, int64_t step) const {
    if (level >= levels_) {
      y[0] = x[0];
      return;
    }
    const int64_t factor = factors_[level];
    if (level + 1 == levels_) return join<false>(factor, x, step, y, 1, 1, 0);
    const int64_t rest = length / factor;
    for (int64_t f = 0; f < factor; ++f) part(x + f * step, y + f * rest, level + 1, rest, step * factor);
    join<true>(factor, y, rest, y, rest, rest, step);
  }

 private:
  /// `count` times: points at x, x + x_step, ..., each turned by a multiple of the root number (time *
  /// root_step) if `turned`, give those at y, y + y_step, ...
  template <bool turned>
  void join(int64_t factor, const Point<D>* x, int64_t x_step, Point<D>* y, int64_t y_step, int64_t count,
            int64_t root_step) const {
    switch (factor) {
      case 2:
        return repeat(count, root_step,
                      [&](int64_t k, int64_t turn) { join_two<turned>(x + k, x_step, y + k, y_step, turn); });
      case 3:
        return repeat(count, root_step, [&](int64_t k, int64_t turn) {
          join_odd<turned, 3>(3, x + k, x_step, y + k, y_step, turn);
        });
      case 4:
        return repeat(count, root_step, [&](int64_t k, int64_t turn) {
          join_four<turned>(x + k, x_step, y + k, y_step, turn);
        });
      case 5:
        return repeat(count, root_step, [&](int64_t k, int64_t turn) {
          join_odd<turned, 5>(5, x + k, x_step, y + k, y_step, turn);
        });
      default:
        return repeat(count, root_step, [&](int64_t k, int64_t turn) {
          join_odd<turned, 0>(factor, x + k, x_step, y + k, y_step, turn);
        });
    }
  }
  template <class Body>
  AXRUN_INLINE_MEMBER void repeat(int64_t count, int64_t root_step, Body body) const {
    for (int64_t k = 0; k < count; ++k) body(k, k * root_step);
  }

  const double* root(int64_t j) const { return roots_ + 2 * j; }
  template <bool turned>
  Point<D> turn_by(Point<D> x, int64_t turn) const {
    return turned ? times(x, root(turn)) : x;
  }

  template <bool turned>
  void join_two(const Point<D>* x, int64_t x_step, Point<D>* y, int64_t y_step, int64_t turn) const {
    const Point<D> a = x[0], b = turn_by<turned>(x[x_step], turn);
    y[0] = a + b;
    y[y_step] = a - b;
  }

  template <bool turned>
  void join_four(const Point<D>* x, int64_t x_step, Point<D>* y, int64_t y_step, int64_t turn) const {
    const Point<D> a = x[0], b = turn_by<turned>(x[x_step], turn),
                   c = turn_by<turned>(x[2 * x_step], 2 * turn), d = turn_by<turned>(x[3 * x_step], 3 * turn);
    const Point<D> even = a + c, across = a - c, odd = b + d, side = b - d;
    // A quarter turn is i or -i: its rounded root would add an error.
    const double sign = root(length_ / 4)[1];
    const Point<D> turned_side = {-side.im * sign, side.re * sign};
    y[0] = even + odd;
    y[y_step] = across + turned_side;
    y[2 * y_step] = even - odd;
    y[3 * y_step] = across - turned_side;
  }

  /// Points p and factor - p are multiplied by conjugate roots: their sum and their difference by real
  /// numbers. `fixed` is the factor, or 0 where it is not a constant.
  template <bool turned, int fixed>
  void join_odd(int64_t given, const Point<D>* x, int64_t x_step, Point<D>* y, int64_t y_step,
                int64_t turn) const {
    const int64_t factor = fixed > 0 ? fixed : given, half = factor / 2, root_step = length_ / factor;
    Point<D> own[fixed > 0 ? fixed : 1];
    Point<D>* const parts = fixed > 0 ? own : spare_;
    const Point<D> first = x[0];
    Point<D> all = first;
#pragma GCC unroll 2
    for (int64_t p = 1; p <= half; ++p) {
      const Point<D> a = turn_by<turned>(x[p * x_step], p * turn),
                     b = turn_by<turned>(x[(factor - p) * x_step], (factor - p) * turn);
      parts[2 * p - 2] = a + b;
      parts[2 * p - 1] = a - b;
      all = all + parts[2 * p - 2];
    }
    y[0] = all;
#pragma GCC unroll 2
    for (int64_t k = 1; k <= half; ++k) {
      Point<D> sum = first, across = {};
      int64_t j = 0;
#pragma GCC unroll 2
      for (int64_t p = 1; p <= half; ++p) {
        j += k;
        if (j >= factor) j -= factor;
        const double* const by = root(j * root_step);
        sum.re += parts[2 * p - 2].re * by[0];
        sum.im += parts[2 * p - 2].im * by[0];
        across.re += parts[2 * p - 1].re * by[1];
        across.im += parts[2 * p - 1].im * by[1];
      }
      y[k * y_step] = {sum.re - across.im, sum.im + across.re};
      y[(factor - k) * y_step] = {sum.re + across.im, sum.im - across.re};
    }
  }

  const int64_t* factors_;
  int64_t levels_, length_;
  const double* roots_;
  Point<D>* spare_;
};

/// Floats of the signals on their way from or to lanes: a part at a time, which stays in the nearest cache.
inline constexpr int64_t staged_rows = 64;

template <class D>
class Batch {
 public:
  static constexpr int64_t width = sizeof(D) / sizeof(double);

  explicit Batch(const FourierBatch& batch)
      : b_(batch),
        given_(reinterpret_cast<Point<D>*>(batch.scratch)),
        made_(given_ + batch.length + 1),
        transform_(batch, made_ + batch.length + 1) {}

  static int64_t scratch_doubles(const FourierBatch& b) {
    int64_t largest = 0;
    for (int64_t level = 0; level < b.levels; ++level) largest = larger(largest, b.factors[level]);
    return (2 * (b.length + 1) + largest) * 2 * width;
  }

  void run() {
    switch (b_.form) {
      case FourierForm::complex_points:
        read_complex(given_, b_.length);
        if (b_.results == 1) mirror();
        transform_.part(given_, made_, 0, b_.length, 1);
        return b_.results == 1 ? write([&](int64_t k) { return made_[k].re; })
                               : write([&](int64_t k) { return made_[k]; });
      case FourierForm::real_pairs:
        read_real();
        transform_.part(given_, made_, 0, b_.length, 1);
        made_[b_.length] = made_[0];
        return write(
            [&](int64_t k) { return k <= b_.length ? spectrum(k) : conjugate(spectrum(2 * b_.length - k)); });
      case FourierForm::to_real_pairs:
        read_complex(made_, b_.length + 1);
        fold();
        transform_.part(given_, made_, 0, b_.length, 1);
        return write([&](int64_t n) { return reals(made_)[n]; });
    }
  }

 private:
  static D* reals(Point<D>* points) { return &points->re; }

  /// Calls body(row, floats of its lanes) for each of `points` * `components` floats of a signal.
  template <class Body>
  AXRUN_INLINE_MEMBER void read(int64_t components, Body body) {
    const int64_t rows = b_.points * components;
    alignas(64) float staged[staged_rows * width];
    if (b_.count < width)
      for (float& lane : staged) lane = 0.0f;
    for (int64_t first = 0; first < rows; first += staged_rows) {
      const int64_t count = smaller(staged_rows, rows - first);
      if (b_.x_point == components && width > 1) {
        transpose_block(sizeof(float), count, b_.count, b_.x + first, b_.x_signal, staged, width);
      } else {
        const float* point = b_.x + first / components * b_.x_point;
        for (int64_t row = 0; row < count; row += components, point += b_.x_point)
          for (int64_t c = 0; c < components; ++c)
            for (int64_t lane = 0; lane < b_.count; ++lane)
              staged[(row + c) * width + lane] = point[c + lane * b_.x_signal];
      }
      for (int64_t row = 0; row < count; ++row) body(first + row, staged + row * width);
    }
  }

  void read_real() {
    D* const to = reals(given_);
    read(1, [&](int64_t n, const float* from) {
      widen_to(to[n], from);
      if (b_.window != nullptr) to[n] *= static_cast<double>(b_.window[n]);
    });
    for (int64_t n = b_.points; n < 2 * b_.length; ++n) to[n] = D{};
  }
  /// Sets `count` points.
  void read_complex(Point<D>* points, int64_t count) {
    D* const to = reals(points);
    const bool real = b_.components == 1;
    read(b_.components, [&](int64_t row, const float* from) {
      const int64_t n = real ? row : row / 2;
      D value;
      widen_to(value, from);
      if (b_.window != nullptr) value *= static_cast<double>(b_.window[n]);
      to[real ? 2 * row : row] = value;
      if (real) to[2 * row + 1] = D{};
    });
    for (int64_t n = b_.points; n < count; ++n) points[n] = Point<D>{};
  }

  /// Half a spectrum of real points: the other half is its conjugate.
  void mirror() {
    for (int64_t n = 1; n < b_.points; ++n)
      if (2 * n != b_.length) given_[b_.length - n] = conjugate(given_[n]);
  }

  /// A transform of real points in pairs: that of the even ones and i times that of the odd ones, each of
  /// which is its own mirrored conjugate.
  AXRUN_INLINE_MEMBER Point<D> spectrum(int64_t k) {
    const Point<D> a = made_[k], b = conjugate(made_[b_.length - k]);
    const Point<D> even = a + b, odd = a - b;
    const Point<D> turned = times(Point<D>{odd.im, -odd.re}, b_.half_roots + 2 * k);
    return {(even.re + turned.re) * 0.5, (even.im + turned.im) * 0.5};
  }
  /// The other way round, from `made` to `given`.
  void fold() {
    made_[0].im = D{};
    made_[b_.length].im = D{};
    for (int64_t k = 0; k < b_.length; ++k) {
      const Point<D> a = made_[k], b = conjugate(made_[b_.length - k]);
      const Point<D> even = a + b, odd = times(a - b, b_.half_roots + 2 * k);
      given_[k] = {even.re - odd.im, even.im + odd.re};
    }
  }

  AXRUN_INLINE_MEMBER void put(float* to, D value) { narrow_to(to, value * b_.scale); }
  AXRUN_INLINE_MEMBER void put(float* to, Point<D> value) {
    put(to, value.re);
    put(to + width, value.im);
  }

  /// of(k), a Point or a D, is result k.
  template <class Of>
  AXRUN_INLINE_MEMBER void write(Of of) {
    const int64_t results = sizeof(of(0)) / sizeof(D), at_once = staged_rows / results;
    alignas(64) float staged[staged_rows * width];
    float* to = b_.y;
    for (int64_t first = 0; first < b_.frequencies; first += at_once, to += at_once * b_.y_point) {
      const int64_t count = smaller(at_once, b_.frequencies - first);
      for (int64_t k = 0; k < count; ++k) put(staged + k * results * width, of(first + k));
      if (b_.y_point == results && width > 1) {
        transpose_block(sizeof(float), b_.count, count * results, staged, width, to, b_.y_signal);
      } else {
        for (int64_t k = 0; k < count; ++k)
          for (int64_t c = 0; c < results; ++c)
            for (int64_t lane = 0; lane < b_.count; ++lane)
              to[k * b_.y_point + c + lane * b_.y_signal] = staged[(k * results + c) * width + lane];
      }
    }
  }

  const FourierBatch& b_;
  Point<D>*const given_, *const made_;
  Transform<D> transform_;
};

}  // namespace

int64_t fourier_scratch_doubles(const FourierBatch& batch) {
  return batch.side_by_side ? Batch<DoubleVector>::scratch_doubles(batch)
                            : Batch<double>::scratch_doubles(batch);
}

void fourier(const FourierBatch& batch) {
  if (batch.side_by_side) return Batch<DoubleVector>(batch).run();
  Batch<double>(batch).run();
}

}  // namespace axrun::runtime::AXRUN_ISA
