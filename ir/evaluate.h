#pragma once

#include <functional>
#include <vector>

#include "ir/program.h"
#include "ir/tensor.h"

namespace axrun::ir {

class SizesAtHand;

/// The reference interpreter: the semantics of tensor expressions, in float64 and exact integers.
struct EvaluateOptions {
  /// Keep f32 results (and stages in between) in f64 storage. Operands may be stored so in any case: an f64
  /// tensor is accepted where the program declares f32. Off: results have the declared types.
  bool wide = false;
  /// Runs body(begin, end) over a partition of 0..count, perhaps in parallel; serial when empty.
  std::function<void(int64_t count, const std::function<void(int64_t, int64_t)>& body)> parallel_for;
};

/// Evaluates a program. operands[k] belongs to Program::operands[k] (undefined where that is none). Symbolic
/// extents are bound by the operands' shapes. Throws Error(user) when data leads out of bounds or divides an
/// integer by zero, and Error(user) for shapes that do not fit the declarations.
std::vector<Tensor> evaluate(const Program& program, const std::vector<Tensor>& operands,
                             const EvaluateOptions& options = {});

/// Evaluates small integer programs over symbolic sizes: operands[k] gives the row-major elements of operand
/// k as Dims (empty optional: unknown). An output whose elements cannot all be expressed is an empty
/// optional. At most `limit` elements per output. What depends on more than the names is what the sizes at
/// hand say, where there are any.
std::vector<std::optional<Dims>> evaluate_symbolic(const Program& program,
                                                   const std::vector<std::optional<Dims>>& operands,
                                                   int64_t limit = 64, SizesAtHand* sizes = nullptr);

}  // namespace axrun::ir
