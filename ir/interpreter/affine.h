#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/interpreter/bindings.h"
#include "ir/program.h"

namespace axrun::ir::interpreter {

/// Sum of coefficient * coordinate over the dimensions of an iteration space, plus a constant.
struct Affine {
  std::vector<int64_t> coefficients;
  int64_t constant = 0;
  bool is_constant() const;
  friend bool operator<(const Affine& a, const Affine& b) {
    return a.coefficients != b.coefficients ? a.coefficients < b.coefficients : a.constant < b.constant;
  }
};

struct Interval {
  int64_t low = 0;
  int64_t high = 0;
};

/// The affine forms of a program's i64 expressions over an iteration space: the axes of a stage, its reduce
/// axes, and last the index of the enclosing scan. Forms are kept only where no value over the space leaves
/// +-2^60, so they never wrap where the expression does not, and sums of a few never overflow.
class AffineAnalysis {
 public:
  /// extents: all at least 1, one per dimension of the space. Looks at expressions 0 .. count-1.
  AffineAnalysis(const Program& program, size_t count, std::vector<int64_t> extents,
                 const Bindings& bindings);

  /// nullptr when the expression is not affine.
  const Affine* of(ExprId id) const;
  Interval range(const Affine& form) const;
  /// scale_a * a + scale_b * b + constant; nullopt when it becomes too large.
  std::optional<Affine> combine(const Affine& a, int64_t scale_a, const Affine& b, int64_t scale_b,
                                int64_t constant) const;
  Affine constant(int64_t value) const;

 private:
  std::optional<Affine> analyse(const Expr& expr, const Bindings& bindings) const;
  std::optional<Affine> divide(const Affine& a, int64_t divisor, bool quotient) const;
  bool fits(const Affine& form) const;
  std::vector<int64_t> extents_;
  std::vector<std::optional<Affine>> forms_;
};

}  // namespace axrun::ir::interpreter
