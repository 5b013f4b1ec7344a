#include "ir/interpreter/fold.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "ir/arithmetic.h"
#include "ir/element_access.h"

namespace axrun::ir::interpreter {
namespace {

template <typename T, typename Function>
void fold_lanes(void* accumulators, const void* values, bool uniform, int count, Function f) {
  T* __restrict a = static_cast<T*>(accumulators);
  const T* __restrict v = static_cast<const T*>(values);
  if (uniform) {
    const T value = *v;
    for (int k = 0; k < count; ++k) a[k] = f(a[k], value);
  } else {
    for (int k = 0; k < count; ++k) a[k] = f(a[k], v[k]);
  }
}

template <typename T, typename Function>
void fold_in_order(void* accumulator, const void* values, bool uniform, int count, Function f) {
  const T* v = static_cast<const T*>(values);
  T a = *static_cast<T*>(accumulator);
  for (int k = 0; k < count; ++k) a = f(a, v[uniform ? 0 : k]);
  *static_cast<T*>(accumulator) = a;
}

/// Calls visit with the scalar type and the combining function of a built-in monoid.
template <typename Visit>
void with_monoid(Monoid::Kind kind, ElementType type, Visit visit) {
  if (is_float(type)) {
    switch (kind) {
      case Monoid::Kind::sum:
        return visit(0.0, [](double a, double b) { return a + b; });
      case Monoid::Kind::product:
        return visit(0.0, [](double a, double b) { return a * b; });
      case Monoid::Kind::min:
        return visit(0.0, [](double a, double b) { return nan_min(a, b); });
      case Monoid::Kind::max:
        return visit(0.0, [](double a, double b) { return nan_max(a, b); });
      case Monoid::Kind::tuple:
        break;
    }
  } else if (kind == Monoid::Kind::sum && type == ElementType::i32) {
    return visit(int64_t{0},
                 [](int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<int32_t>(a + b)); });
  } else if (kind == Monoid::Kind::sum && bits_of(type) == 64) {
    return visit(int64_t{0}, [](int64_t a, int64_t b) {
      return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    });
  } else {
    ScalarOp op = kind == Monoid::Kind::sum       ? ScalarOp::add
                  : kind == Monoid::Kind::product ? ScalarOp::mul
                  : kind == Monoid::Kind::min     ? ScalarOp::min
                                                  : ScalarOp::max;
    if (kind != Monoid::Kind::tuple) {
      return visit(int64_t{0}, [op, type](int64_t a, int64_t b) { return *integer_binary(op, type, a, b); });
    }
  }
  throw Error(Fault::internal, "a tuple has no built-in monoid");
}

double real_identity(Monoid::Kind kind) {
  switch (kind) {
    case Monoid::Kind::product:
      return 1;
    case Monoid::Kind::min:
      return std::numeric_limits<double>::infinity();
    case Monoid::Kind::max:
      return -std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

bool is_f8(ElementType type) { return is_float(type) && size_of(type) == 1; }

}  // namespace

void fill_identity(Monoid::Kind kind, ElementType type, void* lanes, int count) {
  if (is_float(type)) {
    std::fill_n(static_cast<double*>(lanes), count, real_identity(kind));
  } else {
    std::fill_n(static_cast<int64_t*>(lanes), count, integer_identity(kind, type));
  }
}

void fold(Monoid::Kind kind, ElementType type, void* accumulators, const void* values, bool uniform,
          int count) {
  with_monoid(kind, type, [&](auto scalar, auto function) {
    fold_lanes<decltype(scalar)>(accumulators, values, uniform, count, function);
  });
}

void fold_sequence(Monoid::Kind kind, ElementType type, void* accumulator, const void* values, bool uniform,
                   int count) {
  with_monoid(kind, type, [&](auto scalar, auto function) {
    fold_in_order<decltype(scalar)>(accumulator, values, uniform, count, function);
  });
}

void store_lanes(Tensor& tensor, int64_t position, const void* lanes, bool uniform, int count) {
  const int step = uniform ? 0 : 1;
  const ElementType type = tensor.type();
  const auto* reals = static_cast<const double*>(lanes);
  const auto* integers = static_cast<const int64_t*>(lanes);
  const bool real = is_float(type);
  if (type == ElementType::string) {
    for (int k = 0; k < count; ++k) {
      tensor.strings()[position + k] = *std::bit_cast<const std::string*>(integers[k * step]);
    }
    return;
  }
  if (is_f8(type)) {
    // Infinities that a cast without saturation has let pass stay what they are.
    for (int k = 0; k < count; ++k) {
      tensor.as<uint8_t>()[position + k] = f8_from_double(type, reals[k * step], /*saturate=*/false);
    }
    return;
  }
  visit_element(type, [&](auto row) {
    using Row = decltype(row);
    for (int k = 0; real && k < count; ++k) {
      store_element(tensor.data(), position + k, Row::from_real(reals[k * step]));
    }
    for (int k = 0; !real && k < count; ++k) {
      store_element(tensor.data(), position + k, Row::from_integer(integers[k * step]));
    }
  });
}

}  // namespace axrun::ir::interpreter
