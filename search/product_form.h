#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace axrun::search {

/// A sum of products seen as many products of matrices, c[row, column] = sum a[row, k] * b[k, column], and
/// the map that is applied to each element of c, if any.
struct ProductForm {
  const ir::Stage* sum = nullptr;
  const ir::Stage* epilogue = nullptr;  ///< null: the sum is the result
  /// The factors of the sum's terms: those that depend on the column, and the others.
  std::vector<ir::ExprId> left, right;
  /// Axis of the sum: the last one of the result, contiguous in memory, or the one before a last one of few
  /// elements, where the right side is contiguous along it.
  int column = ir::none;
  int row = ir::none;      ///< axis of the sum on which only the left side depends; none: b is read once
  std::vector<int> outer;  ///< the other axes of the sum, in order of the result
  /// The axis of the sum that each axis of the epilogue is; -1 for axes of extent 1.
  std::vector<int> epilogue_axes;
  bool left_constant = false, right_constant = false;
  bool across = false;  ///< results are contiguous along the row, not the column (`turned`)

  const ir::Stage& last() const { return epilogue != nullptr ? *epilogue : *sum; }
};

/// The form of a sum and a map of it (or null); `reason` says why there is none.
struct FoundProduct {
  bool found = false;
  ProductForm form;
  std::string reason;
};
/// constant: one flag per tensor.
FoundProduct find_product(const ir::Program& program, const ir::Stage& sum, const ir::Stage* epilogue,
                          const std::vector<bool>& constant, ir::ElementType type = ir::ElementType::f32);

/// The integers that decide what expressions read: indices, and both sides of comparisons. None where
/// integers are values, which are not looked into.
std::vector<ir::ExprId> places_read(const ir::Program& program, const std::vector<ir::ExprId>& ids);

/// Columns from what the right side reads at a step along the last axis of the sum to the same at the step
/// before, as taps of a window do. 0: there is no such number.
int64_t shift_of_terms(const ir::Program& program, const ProductForm& form);

/// Whether the right side can be read at columns beyond the last one, as its loads have guards against that.
bool columns_are_guarded(const ir::Program& program, const ProductForm& form);

/// What is multiplied, in order; one factor where nothing is.
std::vector<ir::ExprId> factors_of(const ir::Program& program, ir::ExprId id);

/// Whether all that expressions read is the same in every run. constant: one flag per tensor.
bool is_constant(const ir::Program& program, const std::vector<ir::ExprId>& ids,
                 const std::vector<bool>& constant);

/// Whether the right side is a load whose last index is the column: a row of it is a vector load.
bool columns_are_contiguous(const ir::Program& program, const ProductForm& form);

}  // namespace axrun::search
