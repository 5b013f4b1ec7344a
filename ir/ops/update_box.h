#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ir/operator.h"

namespace axrun::ir {

/// Along one dimension of a scatter's base: where the updates go.
struct BoxSide {
  int64_t start = 0;
  int64_t step = 1;
  int axis = none;  ///< of the updates, which is followed in steps; none: `start` alone
};

/// Places of updates as a box: one side per dimension of the base, each axis of more than one element along
/// one side. No place is met twice.
using UpdateBox = std::vector<BoxSide>;

/// The side that says places[i], in row-major order over `shape`, or nothing where no side does. Negative
/// places count from the end of the `size` elements; those outside belong to no side.
std::optional<BoxSide> box_side(const Shape& shape, int64_t size,
                                const std::function<int64_t(int64_t)>& places);

/// Whether every axis of the updates that may have several elements is followed by one side.
bool is_box(const UpdateBox& box, const Dims& updates);

/// Base, with the updates combined where the box has them.
TensorRef write_box(Builder& b, const TensorRef& base, const TensorRef& updates, const UpdateBox& box,
                    ScatterCombine combine);

}  // namespace axrun::ir
