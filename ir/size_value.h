#pragma once

#include <cstdint>
#include <optional>

#include "ir/dim.h"
#include "ir/program.h"

namespace axrun::ir {

/// An exact value over named sizes: `numerator` of an integer or boolean expression (denominator 1), the
/// quotient of a float one. Rationals are enough for what exporters do to sizes: scale by 0.5 or 2, round,
/// cast back.
struct SizeValue {
  Dim numerator;
  int64_t denominator = 1;
  bool is_constant() const { return numerator.is_constant(); }
};

/// A value, or nothing where it is not known.
using MaybeSize = std::optional<SizeValue>;

class SizesAtHand;

/// Whether two sizes are equal, where that is certain for all values of their symbols; otherwise, where there
/// are sizes at hand, what these say.
std::optional<bool> equal(const Dim& a, const Dim& b, SizesAtHand* sizes = nullptr);

/// 1 or 0, where the truth is known.
MaybeSize truth(std::optional<bool> value);

/// A double as a quotient with a power of two, if that is exact and small.
MaybeSize from_real(double value);

/// The value rounded towards zero, where its sign is certain.
MaybeSize truncated(const SizeValue& a, SizesAtHand* sizes = nullptr);

/// Arithmetic of exact values. Integers of a type wrap only where constant: sizes never reach a type's
/// bounds. What is not certain for all sizes is what the sizes at hand say, where there are any.
class SizeArithmetic {
 public:
  /// `type` is the operands'.
  SizeArithmetic(ScalarOp op, ElementType type, SizesAtHand* sizes = nullptr)
      : op_(op), type_(type), sizes_(sizes) {}

  MaybeSize unary(const SizeValue& a) const;
  MaybeSize binary(const MaybeSize& a, const MaybeSize& b) const;

 private:
  MaybeSize logical(const MaybeSize& a, const MaybeSize& b) const;
  MaybeSize annihilated(const MaybeSize& a, const MaybeSize& b) const;
  MaybeSize exact(const SizeValue& a, const SizeValue& b) const;
  MaybeSize divide(const Dim& a, const Dim& b) const;

  ScalarOp op_;
  ElementType type_;
  SizesAtHand* sizes_;
};

}  // namespace axrun::ir
