#pragma once

#include "ir/program.h"
#include "verify/bound_body.h"

namespace axrun::verify {

/// A reduction with one of the plain monoids, in any order: see ErrorBound.
class Fold {
 public:
  Fold(ir::Monoid::Kind kind, ir::ElementType type);
  void start();
  /// Takes in lanes [first, first + count).
  void add(const Lanes& terms, int first, int count);
  /// Throws NoBound for integers beyond 2^53.
  Interval result() const;

 private:
  void add_to_sum(const Lanes& terms, int first, int count);
  void note_special(const Interval& term);
  Interval sum() const;
  Interval product() const;

  ir::Monoid::Kind kind_;
  ir::ElementType type_;
  struct Sums {
    Interval running;  ///< of a minimum, a maximum, or a product before rounding
    double value = 0;  ///< sums of the terms' members
    double low = 0;
    double high = 0;
    double magnitude = 0;  ///< sum of the largest magnitudes
    double terms = 0;      ///< that are not zero: adding zero is exact
    double largest = 1;    ///< product of what is above 1 in magnitude
    double smallest = 1;   ///< product of what is below 1, zeros aside
    bool whole = true;     ///< all terms are certain integers
    bool nan = false;      ///< a term is NaN for certain
    bool anything = false;
    bool sure_positive = false;  ///< a term is +infinity for certain
    bool sure_negative = false;
    bool maybe_positive = false;
    bool maybe_negative = false;
  };
  Sums sums_;
};

}  // namespace axrun::verify
