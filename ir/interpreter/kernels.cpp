// The loops over lanes: one function per scalar operation and kind of operands.
#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/arithmetic.h"
#include "ir/error.h"
#include "ir/interpreter/workspace.h"

namespace axrun::ir::interpreter {
namespace {

template <typename In, typename Out, typename Function>
void each(const Instruction& i, Workspace& w, int count, Function f) {
  const In* __restrict a = w.lanes<In>(i.arguments[0]);
  Out* __restrict out = w.lanes<Out>(i.result);
  for (int k = 0; k < count; ++k) out[k] = f(a[k]);
}

/// A uniform operand stands for all lanes. (Both are uniform only where the result is, and then count is 1.)
template <typename In, typename Out, typename Function>
void each_pair(const Instruction& i, Workspace& w, int count, Function f) {
  const In* __restrict a = w.lanes<In>(i.arguments[0]);
  const In* __restrict b = w.lanes<In>(i.arguments[1]);
  Out* __restrict out = w.lanes<Out>(i.result);
  if (i.uniform[0]) {
    const In left = *a;
    for (int k = 0; k < count; ++k) out[k] = f(left, b[k]);
  } else if (i.uniform[1]) {
    const In right = *b;
    for (int k = 0; k < count; ++k) out[k] = f(a[k], right);
  } else {
    for (int k = 0; k < count; ++k) out[k] = f(a[k], b[k]);
  }
}

/// Bits above the type's width are dropped; signed types repeat the sign bit.
template <bool is_signed>
int64_t narrow(uint64_t value, int shift) {
  value <<= shift;
  return is_signed ? static_cast<int64_t>(value) >> shift : static_cast<int64_t>(value >> shift);
}

template <typename Operation, bool is_signed>
void wrapped_pair(const Instruction& i, Workspace& w, int count) {
  const int shift = 64 - bits_of(i.type);
  each_pair<int64_t, int64_t>(i, w, count, [shift](int64_t a, int64_t b) {
    return narrow<is_signed>(Operation::apply(static_cast<uint64_t>(a), static_cast<uint64_t>(b)), shift);
  });
}

template <typename Operation>
void plain_pair(const Instruction& i, Workspace& w, int count) {
  each_pair<int64_t, int64_t>(i, w, count, [](int64_t a, int64_t b) {
    return static_cast<int64_t>(Operation::apply(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  });
}

template <typename Operation>
Kernel wrapped_kernel(ElementType type) {
  if (bits_of(type) == 64) return plain_pair<Operation>;
  return is_signed_integer(type) ? wrapped_pair<Operation, true> : wrapped_pair<Operation, false>;
}

struct Add {
  static uint64_t apply(uint64_t a, uint64_t b) { return a + b; }
};
struct Subtract {
  static uint64_t apply(uint64_t a, uint64_t b) { return a - b; }
};
struct Multiply {
  static uint64_t apply(uint64_t a, uint64_t b) { return a * b; }
};

[[noreturn]] void division_by_zero(const Workspace& w) {
  throw Error(Fault::user, w.body().where + ": an integer is divided by zero");
}

/// Any integer operation, one lane at a time.
void any_integer_pair(const Instruction& i, Workspace& w, int count) {
  each_pair<int64_t, int64_t>(i, w, count, [&](int64_t a, int64_t b) {
    auto value = integer_binary(i.op, i.type, a, b);
    if (!value) division_by_zero(w);
    return *value;
  });
}

/// Index arithmetic: a positive divisor common to all lanes.
void divide_signed(const Instruction& i, Workspace& w, int count) {
  const int64_t divisor = *w.lanes<int64_t>(i.arguments[1]);
  if (!i.uniform[1] || divisor <= 0) return any_integer_pair(i, w, count);
  const bool quotient = i.op == ScalarOp::floor_div;
  if (std::has_single_bit(static_cast<uint64_t>(divisor))) {
    const int shift = std::countr_zero(static_cast<uint64_t>(divisor));
    if (quotient) {
      each<int64_t, int64_t>(i, w, count, [shift](int64_t a) { return a >> shift; });
    } else {
      each<int64_t, int64_t>(i, w, count, [divisor](int64_t a) { return a & (divisor - 1); });
    }
    return;
  }
  each<int64_t, int64_t>(i, w, count, [divisor, quotient](int64_t a) {
    // The 32-bit division is several times faster.
    if ((static_cast<uint64_t>(a) | static_cast<uint64_t>(divisor)) < (uint64_t{1} << 32)) {
      const auto small = static_cast<uint32_t>(a);
      const auto by = static_cast<uint32_t>(divisor);
      return static_cast<int64_t>(quotient ? small / by : small % by);
    }
    const int64_t rest = a % divisor;
    if (quotient) return a / divisor - (rest < 0 ? 1 : 0);
    return rest < 0 ? rest + divisor : rest;
  });
}

void any_real_pair(const Instruction& i, Workspace& w, int count) {
  each_pair<double, double>(i, w, count, [&](double a, double b) { return real_binary(i.op, a, b); });
}

void any_integer(const Instruction& i, Workspace& w, int count) {
  each<int64_t, int64_t>(i, w, count, [&](int64_t a) { return integer_unary(i.op, i.type, a); });
}

void any_real(const Instruction& i, Workspace& w, int count) {
  each<double, double>(i, w, count, [&](double a) { return real_unary(i.op, a); });
}

const std::string& string_at(int64_t lane) { return *std::bit_cast<const std::string*>(lane); }

void equal_strings(const Instruction& i, Workspace& w, int count) {
  const bool equal = i.op == ScalarOp::equal;
  each_pair<int64_t, int64_t>(
      i, w, count, [equal](int64_t a, int64_t b) { return (string_at(a) == string_at(b)) == equal ? 1 : 0; });
}

[[noreturn]] void refuse(ElementType type) {
  throw Error(Fault::model, "an operation is not defined for values of type " + std::string(name_of(type)));
}

// One line per operation: a case that returns the loop around an expression of a and b.
#define AXRUN_PAIR(op, In, Out, expression)                                   \
  case ScalarOp::op:                                                          \
    return [](const Instruction& i, Workspace& w, int count) {                \
      each_pair<In, Out>(i, w, count, [](In a, In b) { return expression; }); \
    };
#define AXRUN_ONE(op, In, Out, expression)                         \
  case ScalarOp::op:                                               \
    return [](const Instruction& i, Workspace& w, int count) {     \
      each<In, Out>(i, w, count, [](In a) { return expression; }); \
    };

Kernel real_binary_kernel(ScalarOp op) {
  switch (op) {
    AXRUN_PAIR(add, double, double, a + b)
    AXRUN_PAIR(sub, double, double, a - b)
    AXRUN_PAIR(mul, double, double, a* b)
    AXRUN_PAIR(div, double, double, a / b)
    AXRUN_PAIR(min, double, double, nan_min(a, b))
    AXRUN_PAIR(max, double, double, nan_max(a, b))
    AXRUN_PAIR(equal, double, int64_t, static_cast<int64_t>(a == b))
    AXRUN_PAIR(not_equal, double, int64_t, static_cast<int64_t>(a != b))
    AXRUN_PAIR(less, double, int64_t, static_cast<int64_t>(a < b))
    AXRUN_PAIR(less_equal, double, int64_t, static_cast<int64_t>(a <= b))
    AXRUN_PAIR(greater, double, int64_t, static_cast<int64_t>(a > b))
    AXRUN_PAIR(greater_equal, double, int64_t, static_cast<int64_t>(a >= b))
    case ScalarOp::floor_mod:
    case ScalarOp::remainder:
    case ScalarOp::pow:
    case ScalarOp::atan2:
      return any_real_pair;
    default:
      refuse(ElementType::f64);
  }
}

Kernel integer_binary_kernel(ScalarOp op, ElementType type) {
  switch (op) {
    case ScalarOp::add:
      return wrapped_kernel<Add>(type);
    case ScalarOp::sub:
      return wrapped_kernel<Subtract>(type);
    case ScalarOp::mul:
      return wrapped_kernel<Multiply>(type);
      AXRUN_PAIR(equal, int64_t, int64_t, static_cast<int64_t>(a == b))
      AXRUN_PAIR(not_equal, int64_t, int64_t, static_cast<int64_t>(a != b))
      AXRUN_PAIR(logical_and, int64_t, int64_t, a & b)
      AXRUN_PAIR(logical_or, int64_t, int64_t, a | b)
      AXRUN_PAIR(logical_xor, int64_t, int64_t, a ^ b)
      AXRUN_PAIR(bit_and, int64_t, int64_t, a & b)
      AXRUN_PAIR(bit_or, int64_t, int64_t, a | b)
    default:
      break;
  }
  if (type == ElementType::u64) return any_integer_pair;
  switch (op) {
    AXRUN_PAIR(min, int64_t, int64_t, std::min(a, b))
    AXRUN_PAIR(max, int64_t, int64_t, std::max(a, b))
    AXRUN_PAIR(less, int64_t, int64_t, static_cast<int64_t>(a < b))
    AXRUN_PAIR(less_equal, int64_t, int64_t, static_cast<int64_t>(a <= b))
    AXRUN_PAIR(greater, int64_t, int64_t, static_cast<int64_t>(a > b))
    AXRUN_PAIR(greater_equal, int64_t, int64_t, static_cast<int64_t>(a >= b))
    case ScalarOp::floor_div:
    case ScalarOp::floor_mod:
      return divide_signed;
    default:
      return any_integer_pair;
  }
}

Kernel real_unary_kernel(ScalarOp op) {
  switch (op) {
    AXRUN_ONE(neg, double, double, -a)
    AXRUN_ONE(abs, double, double, std::fabs(a))
    AXRUN_ONE(sqrt, double, double, std::sqrt(a))
    AXRUN_ONE(exp, double, double, std::exp(a))
    AXRUN_ONE(log, double, double, std::log(a))
    AXRUN_ONE(tanh, double, double, std::tanh(a))
    AXRUN_ONE(erf, double, double, std::erf(a))
    AXRUN_ONE(is_nan, double, int64_t, static_cast<int64_t>(std::isnan(a)))
    AXRUN_ONE(is_inf, double, int64_t, static_cast<int64_t>(std::isinf(a)))
    case ScalarOp::logical_not:
    case ScalarOp::bit_not:
      refuse(ElementType::f64);
    default:
      return any_real;
  }
}

Kernel integer_unary_kernel(ScalarOp op, ElementType type) {
  switch (op) {
    AXRUN_ONE(logical_not, int64_t, int64_t, a ^ 1)
    case ScalarOp::neg:
    case ScalarOp::abs:
    case ScalarOp::sign:
    case ScalarOp::bit_not:
      return any_integer;
    default:
      refuse(type);
  }
}

#undef AXRUN_PAIR
#undef AXRUN_ONE

template <bool saturate>
void cast_real(const Instruction& i, Workspace& w, int count) {
  if (i.to == ElementType::f64) {
    each<double, double>(i, w, count, [](double a) { return a; });
  } else if (i.to == ElementType::f32) {
    each<double, double>(i, w, count, [](double a) { return static_cast<double>(static_cast<float>(a)); });
  } else {
    each<double, double>(i, w, count, [&](double a) { return real_to_real(i.to, a, saturate); });
  }
}

template <bool saturate>
void cast_integer_to_real(const Instruction& i, Workspace& w, int count) {
  each<int64_t, double>(i, w, count,
                        [&](int64_t a) { return real_to_real(i.to, integer_to_real(i.type, a), saturate); });
}

/// The types that double and float hold exactly, or round to once.
void cast_small_integer_to_real(const Instruction& i, Workspace& w, int count) {
  each<int64_t, double>(i, w, count, [](int64_t a) { return static_cast<double>(a); });
}

void cast_real_to_integer(const Instruction& i, Workspace& w, int count) {
  each<double, int64_t>(i, w, count, [&](double a) { return integer_from_real(i.to, a); });
}

template <bool saturate>
void cast_integer(const Instruction& i, Workspace& w, int count) {
  each<int64_t, int64_t>(i, w, count,
                         [&](int64_t a) { return integer_to_integer(i.type, i.to, a, saturate); });
}

void copy_lanes(const Instruction& i, Workspace& w, int count) {
  each<int64_t, int64_t>(i, w, count, [](int64_t a) { return a; });
}

/// Lanes of every type are 8 bytes, copied as they are.
void run_select(const Instruction& i, Workspace& w, int count) {
  const int64_t* condition = w.lanes<int64_t>(i.arguments[0]);
  const int64_t* if_true = w.lanes<int64_t>(i.arguments[1]);
  const int64_t* if_false = w.lanes<int64_t>(i.arguments[2]);
  int64_t* __restrict out = w.lanes<int64_t>(i.result);
  const int c = i.uniform[0] ? 0 : 1;
  const int t = i.uniform[1] ? 0 : 1;
  const int f = i.uniform[2] ? 0 : 1;
  for (int k = 0; k < count; ++k) out[k] = condition[k * c] != 0 ? if_true[k * t] : if_false[k * f];
}

void run_form(const Instruction& i, Workspace& w, int count) {
  const int64_t* table = w.table(i.number);
  const int64_t scalar = w.scalar(i.number);
  int64_t* __restrict out = w.lanes<int64_t>(i.result);
  if (!table) {
    *out = scalar;
    return;
  }
  for (int k = 0; k < count; ++k) out[k] = table[k] + scalar;
}

}  // namespace

Kernel binary_kernel(ScalarOp op, ElementType type) {
  if (is_float(type)) return real_binary_kernel(op);
  if (type == ElementType::string) {
    if (op != ScalarOp::equal && op != ScalarOp::not_equal) refuse(type);
    return equal_strings;
  }
  return integer_binary_kernel(op, type);
}

Kernel unary_kernel(ScalarOp op, ElementType type) {
  if (type == ElementType::string) refuse(type);
  return is_float(type) ? real_unary_kernel(op) : integer_unary_kernel(op, type);
}

Kernel cast_kernel(ElementType from, ElementType to, bool saturate) {
  if (from == to) return copy_lanes;
  if (from == ElementType::string || to == ElementType::string) refuse(ElementType::string);
  if (is_float(from)) {
    if (!is_float(to)) return cast_real_to_integer;
    return saturate ? cast_real<true> : cast_real<false>;
  }
  if (is_float(to)) {
    // Integers of up to 24 bits are exact in f32, those of up to 53 in f64; wider ones are rounded once.
    if (to == ElementType::f64 ? from != ElementType::u64 : to == ElementType::f32 && bits_of(from) <= 16) {
      return cast_small_integer_to_real;
    }
    return saturate ? cast_integer_to_real<true> : cast_integer_to_real<false>;
  }
  return saturate ? cast_integer<true> : cast_integer<false>;
}

Kernel select_kernel() { return run_select; }
Kernel form_kernel() { return run_form; }

}  // namespace axrun::ir::interpreter
