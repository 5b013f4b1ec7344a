#pragma once

#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace axrun::ir {

/// Keeps equal expressions of a program one node.
class ExpressionPool {
 public:
  /// The number of the expression equal to this one, which is appended if there is none. All of `exprs` must
  /// have come this way. Literals are equal when their bits are.
  ExprId intern(std::vector<Expr>& exprs, Expr expr);

 private:
  std::unordered_multimap<size_t, ExprId> known_;
};

}  // namespace axrun::ir
