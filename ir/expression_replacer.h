#pragma once

#include "ir/program.h"

namespace axrun::ir {

/// Copies a program with other scalar expressions in it: what derives from this says what stands for each.
/// Stages, tensors and their numbers stay.
class ExpressionReplacer {
 public:
  explicit ExpressionReplacer(const Program& from);
  virtual ~ExpressionReplacer() = default;
  ExpressionReplacer(const ExpressionReplacer&) = delete;
  ExpressionReplacer& operator=(const ExpressionReplacer&) = delete;

  /// Once. Steps of scans are given to `in_step`.
  Program run();

 protected:
  /// What stands for the expression, whose arguments are replaced already: something appended, or there
  /// before.
  virtual ExprId replaced(const Expr& expr) = 0;
  virtual Program in_step(const Program& step) = 0;

  const Expr& at(ExprId id) const { return result_.exprs[static_cast<size_t>(id)]; }
  ExprId append(const Expr& expr);

 private:
  const Program& from_;
  Program result_;
};

}  // namespace axrun::ir
