// Plain loops that the compiler vectorises: the strides are constants, and `ivdep` says what in-place use
// needs, that element i depends on nothing but element i.

#include "runtime/kernels/elementwise.h"

#include "runtime/kernels/isa/elementwise.h"
#include "runtime/kernels/isa/math.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

template <int64_t a_stride, int64_t b_stride, class T, class R, class Function>
AXRUN_INLINE void loop(int64_t count, const T* a, const T* b, R* y, Function function) {
  const T a0 = *a, b0 = *b;
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) y[i] = function(a_stride == 0 ? a0 : a[i], b_stride == 0 ? b0 : b[i]);
}

/// y[i] = function(a[i * a_stride], b[i * b_stride]) for strides 0 and 1.
template <class T, class R, class Function>
AXRUN_INLINE void map_pairs(int64_t count, const T* a, int64_t a_stride, const T* b, int64_t b_stride, R* y,
                            Function function) {
  if (count <= 0) return;
  if (a_stride != 0 && b_stride != 0) {
    loop<1, 1>(count, a, b, y, function);
  } else if (a_stride != 0) {
    loop<1, 0>(count, a, b, y, function);
  } else if (b_stride != 0) {
    loop<0, 1>(count, a, b, y, function);
  } else {
    loop<0, 0>(count, a, b, y, function);
  }
}

/// Wrapping arithmetic on the unsigned twin of a type.
template <class T>
struct Twin;
template <>
struct Twin<int32_t> {
  typedef uint32_t Type;
};
template <>
struct Twin<int64_t> {
  typedef uint64_t Type;
};

template <class T>
AXRUN_INLINE T wrapping_negate(T x) {
  return static_cast<T>(0 - static_cast<typename Twin<T>::Type>(x));
}

template <class T>
AXRUN_INLINE T integer_quotient(T a, T b) {
  if (b == 0) return 0;
  return b == -1 ? wrapping_negate(a) : a / b;
}

/// Remainder with the sign of the dividend.
template <class T>
AXRUN_INLINE T integer_remainder(T a, T b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

template <class T>
AXRUN_INLINE T integer_power(T base, T exponent) {
  typedef typename Twin<T>::Type U;
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? ((exponent & 1) != 0 ? -1 : 1) : 0;
  U result = 1, square = static_cast<U>(base);
  for (; exponent != 0; exponent >>= 1, square *= square) {
    if ((exponent & 1) != 0) result *= square;
  }
  return static_cast<T>(result);
}

template <class T>
void binary_integers(Binary operation, int64_t count, const T* a, int64_t as, const T* b, int64_t bs, T* y) {
  typedef typename Twin<T>::Type U;
  switch (operation) {
    case Binary::add:
      return map_pairs(count, a, as, b, bs, y,
                       [](T u, T v) { return static_cast<T>(static_cast<U>(u) + static_cast<U>(v)); });
    case Binary::subtract:
      return map_pairs(count, a, as, b, bs, y,
                       [](T u, T v) { return static_cast<T>(static_cast<U>(u) - static_cast<U>(v)); });
    case Binary::multiply:
      return map_pairs(count, a, as, b, bs, y,
                       [](T u, T v) { return static_cast<T>(static_cast<U>(u) * static_cast<U>(v)); });
    case Binary::divide:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return integer_quotient(u, v); });
    case Binary::minimum:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return v < u ? v : u; });
    case Binary::maximum:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return u < v ? v : u; });
    case Binary::power:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return integer_power(u, v); });
    case Binary::modulo:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) {
        const T rest = integer_remainder(u, v);
        return static_cast<T>(rest != 0 && (rest < 0) != (v < 0) ? rest + v : rest);
      });
    case Binary::fmod:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return integer_remainder(u, v); });
    case Binary::prelu:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) {
        return u < 0 ? static_cast<T>(static_cast<U>(u) * static_cast<U>(v)) : u;
      });
  }
}

AXRUN_INLINE float power_of(float base, float exponent) { return __builtin_powf(base, exponent); }
AXRUN_INLINE double power_of(double base, double exponent) { return __builtin_pow(base, exponent); }
AXRUN_INLINE float remainder_of(float a, float b) { return __builtin_fmodf(a, b); }
AXRUN_INLINE double remainder_of(double a, double b) { return __builtin_fmod(a, b); }
AXRUN_INLINE float root_of(float x) { return __builtin_sqrtf(x); }
AXRUN_INLINE double root_of(double x) { return __builtin_sqrt(x); }

template <class T>
void floating_power(int64_t count, const T* a, int64_t as, const T* b, int64_t bs, T* y) {
  if (count > 0 && bs == 0) {
    const T exponent = *b;
    if (exponent == T(1)) return map_pairs(count, a, as, b, bs, y, [](T u, T) { return u; });
    if (exponent == T(2)) return map_pairs(count, a, as, b, bs, y, [](T u, T) { return u * u; });
    if (exponent == T(3)) return map_pairs(count, a, as, b, bs, y, [](T u, T) { return u * u * u; });
    if (exponent == T(-1)) return map_pairs(count, a, as, b, bs, y, [](T u, T) { return T(1) / u; });
    if (exponent == T(0.5)) {
      // pow(-0, 0.5) is +0 and pow(-infinity, 0.5) is +infinity, unlike the root.
      return map_pairs(count, a, as, b, bs, y, [](T u, T) {
        const T infinity = static_cast<T>(__builtin_inf());
        return u == -infinity ? infinity : root_of(u) + T(0);
      });
    }
  }
  map_pairs(count, a, as, b, bs, y, [](T u, T v) { return power_of(u, v); });
}

template <class T>
void binary_floats(Binary operation, int64_t count, const T* a, int64_t as, const T* b, int64_t bs, T* y) {
  switch (operation) {
    case Binary::add:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return u + v; });
    case Binary::subtract:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return u - v; });
    case Binary::multiply:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return u * v; });
    case Binary::divide:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return u / v; });
    case Binary::minimum:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return u != u ? u : (u < v ? u : v); });
    case Binary::maximum:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return u != u ? u : (u > v ? u : v); });
    case Binary::power:
      return floating_power(count, a, as, b, bs, y);
    case Binary::modulo:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) {
        const T rest = remainder_of(u, v);
        return rest != 0 && (rest < 0) != (v < 0) ? rest + v : rest;
      });
    case Binary::fmod:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return remainder_of(u, v); });
    case Binary::prelu:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return u < 0 ? u * v : u; });
  }
}

template <class T>
void compare_values(Comparison operation, int64_t count, const T* a, int64_t as, const T* b, int64_t bs,
                    uint8_t* y) {
  switch (operation) {
    case Comparison::equal:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return static_cast<uint8_t>(u == v); });
    case Comparison::not_equal:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return static_cast<uint8_t>(u != v); });
    case Comparison::less:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return static_cast<uint8_t>(u < v); });
    case Comparison::less_equal:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return static_cast<uint8_t>(u <= v); });
    case Comparison::greater:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return static_cast<uint8_t>(u > v); });
    case Comparison::greater_equal:
      return map_pairs(count, a, as, b, bs, y, [](T u, T v) { return static_cast<uint8_t>(u >= v); });
  }
}

template <class T>
void select_values(int64_t count, const uint8_t* condition, int64_t condition_stride, const T* a,
                   int64_t a_stride, const T* b, int64_t b_stride, T* y) {
  if (condition_stride == 1 && a_stride == 1 && b_stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const T u = a[i], v = b[i];
      y[i] = condition[i] != 0 ? u : v;
    }
  } else if (condition_stride == 1 && a_stride == 1 && count > 0) {
    const T v = *b;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const T u = a[i];
      y[i] = condition[i] != 0 ? u : v;
    }
  } else if (condition_stride == 1 && b_stride == 1 && count > 0) {
    const T u = *a;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      const T v = b[i];
      y[i] = condition[i] != 0 ? u : v;
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      y[i] = condition[i * condition_stride] != 0 ? a[i * a_stride] : b[i * b_stride];
    }
  }
}

}  // namespace

void binary(Binary operation, Number type, int64_t count, const void* a, int64_t a_stride, const void* b,
            int64_t b_stride, void* y) {
  const auto floats = [&]<class T>(T* out) {
    binary_floats(operation, count, static_cast<const T*>(a), a_stride, static_cast<const T*>(b), b_stride,
                  out);
  };
  const auto integers = [&]<class T>(T* out) {
    binary_integers(operation, count, static_cast<const T*>(a), a_stride, static_cast<const T*>(b), b_stride,
                    out);
  };
  switch (type) {
    case Number::f32:
      return floats(static_cast<float*>(y));
    case Number::f64:
      return floats(static_cast<double*>(y));
    case Number::i32:
      return integers(static_cast<int32_t*>(y));
    case Number::i64:
      return integers(static_cast<int64_t*>(y));
  }
}

void compare(Comparison operation, Number type, int64_t count, const void* a, int64_t a_stride, const void* b,
             int64_t b_stride, uint8_t* y) {
  const auto run = [&]<class T>(const T* left) {
    compare_values(operation, count, left, a_stride, static_cast<const T*>(b), b_stride, y);
  };
  switch (type) {
    case Number::f32:
      return run(static_cast<const float*>(a));
    case Number::f64:
      return run(static_cast<const double*>(a));
    case Number::i32:
      return run(static_cast<const int32_t*>(a));
    case Number::i64:
      return run(static_cast<const int64_t*>(a));
  }
}

void select(size_t element_bytes, int64_t count, const uint8_t* condition, int64_t condition_stride,
            const void* a, int64_t a_stride, const void* b, int64_t b_stride, void* y) {
  const auto run = [&]<class T>(T* out) {
    select_values(count, condition, condition_stride, static_cast<const T*>(a), a_stride,
                  static_cast<const T*>(b), b_stride, out);
  };
  switch (element_bytes) {
    case 1:
      return run(static_cast<uint8_t*>(y));
    case 2:
      return run(static_cast<uint16_t*>(y));
    case 4:
      return run(static_cast<uint32_t*>(y));
    case 8:
      return run(static_cast<uint64_t*>(y));
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
