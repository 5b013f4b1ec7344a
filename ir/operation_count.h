#pragma once

#include <set>
#include <string>
#include <vector>

#include "ir/program.h"

namespace axrun::ir {

/// The arithmetic of the direct algorithm: every stage of a program computed once as it is written.
///
/// - One operation of the scalar language is one operation, a transcendental function too; loads, casts,
/// selections and
///   logic are none, and so is what only decides where to load from.
/// - A subexpression is computed once for each combination of the axes that it depends on, not at every
/// point.
/// - A reduction of n terms takes n combinations: a product of an MxK and a KxN matrix is 2 M N K.
/// - Terms that are the neutral element for certain (the padding of a convolution, what a window's edge
/// leaves out)
///   are neither computed nor combined.
/// - What depends on no operand, or on known ones only, is computed before the run.
struct OperationCount {
  /// Sums of products of two values that both vary along the sum: multiplications and additions.
  double contraction = 0;
  double arithmetic = 0;      ///< other operations on floats: + - * / sqrt min max abs round, comparisons
  double transcendental = 0;  ///< exp, log, pow, tanh, erf, ... on floats
  double integer_contraction = 0;
  double integer_arithmetic = 0;
  /// What counts as 0: names of opaque functions, and of stages whose size only the run tells.
  std::set<std::string> uncounted;

  double floating() const { return contraction + arithmetic + transcendental; }
  double integer() const { return integer_contraction + integer_arithmetic; }
  OperationCount& operator+=(const OperationCount& other);
  OperationCount operator*(double times) const;
};

/// known[k]: the value of operand k is the same in every run; missing entries are false.
OperationCount count_operations(const Program& program, const std::vector<bool>& known = {});

}  // namespace axrun::ir
