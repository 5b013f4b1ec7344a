#include "ir/ops/packed_numbers.h"

#include <cmath>
#include <limits>

namespace axrun::ir {
namespace {

/// 2^first, 2^(first + step), ...
std::vector<double> powers(int count, int first, int step) {
  std::vector<double> result;
  for (int k = 0; k < count; ++k) result.push_back(std::ldexp(1.0, first + k * step));
  return result;
}

int bias(int exponent_bits) { return (1 << (exponent_bits - 1)) - 1; }
/// What the upper powers are centred by, so that none is denormal.
int centre(int exponent_bits, int low_bits) { return bias(exponent_bits) - (1 << (low_bits - 1)) + 1; }

}  // namespace

Scalar PackedBytes::bits(const Scalar& position, const Scalar& first, int count) const {
  const ElementType u8 = ElementType::u8;
  const Scalar low = binary(ScalarOp::shift_right, byte_(position), cast(u8, first));
  const Scalar mask = b_.integer((int64_t{1} << count) - 1, u8);
  return cast(ElementType::i64, binary(ScalarOp::bit_and, low, mask));
}

FloatOfBits::FloatOfBits(Builder& b, int exponent_bits, int mantissa_bits)
    : b_(b),
      exponent_bits_(exponent_bits),
      mantissa_bits_(mantissa_bits),
      low_bits_((exponent_bits + 1) / 2),
      low_(b, ElementType::f32,
           powers(1 << low_bits_, centre(exponent_bits, low_bits_) - bias(exponent_bits) - mantissa_bits, 1)),
      high_(b, ElementType::f32,
            powers(1 << (exponent_bits - low_bits_), -centre(exponent_bits, low_bits_), 1 << low_bits_)) {}

Scalar FloatOfBits::at(const PackedBytes& bytes, const Scalar& position) const {
  const ElementType f32 = ElementType::f32;
  const int size = (1 + exponent_bits_ + mantissa_bits_) / 8;
  Scalar whole = bytes.byte(position);
  for (int k = 1; k < size; ++k) whole = whole + bytes.byte(position + k) * (int64_t{1} << (8 * k));
  const int64_t unit = int64_t{1} << mantissa_bits_, last = (int64_t{1} << exponent_bits_) - 1;
  const Scalar mantissa = floor_mod(whole, unit), exponent = floor_mod(floor_div(whole, unit), last + 1);
  const Scalar shown = select(exponent == 0, mantissa, mantissa + unit);
  const Scalar own = max(exponent, 1), step = b_.integer(int64_t{1} << low_bits_);
  const Scalar finite = cast(f32, shown) * low_.at(floor_mod(own, step)) * high_.at(floor_div(own, step));
  const Scalar special = select(mantissa == 0, b_.real(f32, std::numeric_limits<double>::infinity()),
                                b_.real(f32, std::numeric_limits<double>::quiet_NaN()));
  const Scalar magnitude = select(exponent == last, special, finite);
  return select(whole < unit * (last + 1), magnitude, -magnitude);
}

}  // namespace axrun::ir
