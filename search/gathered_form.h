#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace axrun::search {

/// A sum of products whose columns are rows of the right side one after another, c[row, line * width +
/// place]: a convolution's. What the right side gives for some lines is gathered into a matrix [k, columns]
/// first.
struct GatheredForm {
  const ir::Stage* sum = nullptr;
  const ir::Stage* epilogue = nullptr;  ///< null: the sum is the result
  /// The factors of the sum's terms: those that depend on columns, and the others.
  std::vector<ir::ExprId> left, right;
  int line = ir::none,
      place = ir::none;    ///< the last two axes of the sum; on them only the right side depends
  int row = ir::none;      ///< axis on which only the left side depends
  std::vector<int> outer;  ///< the other axes of the sum, in order
  /// The dimension of the sum's result that each axis of the epilogue is; -1 for axes of extent 1.
  std::vector<int> epilogue_dims;
  bool left_constant = false;
  /// Where terms read the same of the right side as their neighbours: what it is `stride` steps along a
  /// reduce axis is what it is so many lines and places further on. One for each reduce axis, or none at all.
  struct Shift {
    int64_t lines = 0, places = 0;
    int64_t stride = 1;
    bool any() const { return lines != 0 || places != 0; }
  };
  std::vector<Shift> shifts;

  const ir::Stage& last() const { return epilogue != nullptr ? *epilogue : *sum; }
};

/// The form of a sum, whatever follows it; nothing where there is none. Lines are of literal length, and so
/// is the sum.
std::optional<GatheredForm> gathered_form(const ir::Program& program, const ir::Stage& sum,
                                          ir::ElementType type = ir::ElementType::f32);

/// The form of a sum whose lines are one dimension of its result (merge_axes sees to that), and of a map of
/// it (or null); `reason` says why there is none. constant: one flag per tensor.
struct FoundGathered {
  bool found = false;
  GatheredForm form;
  std::string reason;
};
FoundGathered find_gathered(const ir::Program& program, const ir::Stage& sum, const ir::Stage* epilogue,
                            const std::vector<bool>& constant, ir::ElementType type = ir::ElementType::f32);

}  // namespace axrun::search
