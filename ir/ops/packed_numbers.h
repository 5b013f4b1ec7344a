#pragma once

#include "ir/ops/constant_table.h"

namespace axrun::ir {

/// Little-endian numbers and bit fields that lie in bytes.
class PackedBytes {
 public:
  /// `byte` gives the one at a position (i64) as u8.
  PackedBytes(Builder& b, std::function<Scalar(const Scalar& position)> byte)
      : b_(b), byte_(std::move(byte)) {}

  /// As i64.
  Scalar byte(const Scalar& position) const { return cast(ElementType::i64, byte_(position)); }
  Scalar signed_byte(const Scalar& position) const {
    const Scalar value = byte(position);
    return select(value < 128, value, value - 256);
  }
  /// `count` bits of a byte from bit `first` on, as i64.
  Scalar bits(const Scalar& position, const Scalar& first, int count) const;
  Scalar bits(const Scalar& position, int first, int count) const {
    return bits(position, b_.integer(first), count);
  }

 private:
  Builder& b_;
  std::function<Scalar(const Scalar&)> byte_;
};

/// Decodes floats of an IEEE kind from their bits.
class FloatOfBits {
 public:
  FloatOfBits(Builder& b, int exponent_bits, int mantissa_bits);
  static FloatOfBits half(Builder& b) { return {b, 5, 10}; }
  static FloatOfBits brain(Builder& b) { return {b, 8, 7}; }
  static FloatOfBits single(Builder& b) { return {b, 8, 23}; }

  /// The number at a position, as f32.
  Scalar at(const PackedBytes& bytes, const Scalar& position) const;
  Scalar at(const PackedBytes& bytes, int64_t position) const { return at(bytes, b_.integer(position)); }

 private:
  Builder& b_;
  int exponent_bits_;
  int mantissa_bits_;
  int low_bits_;  ///< of the exponent
  // What a mantissa's unit is worth is the product of two powers of 2, by the lower and the upper bits of the
  // exponent: tables of so few numbers that no tensor holds them. All three products are exact.
  ConstantTable low_;
  ConstantTable high_;
};

}  // namespace axrun::ir
