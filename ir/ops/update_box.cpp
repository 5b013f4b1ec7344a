// Scatters to places that are known and lie in a box: maps, which need no order of writes.
#include "ir/ops/update_box.h"

#include <algorithm>

namespace axrun::ir {

std::optional<BoxSide> box_side(const Shape& shape, int64_t size,
                                const std::function<int64_t(int64_t)>& places) {
  const auto place = [&](int64_t k) {
    const int64_t given = places(k);
    return given < 0 ? given + size : given;
  };
  const int64_t count = element_count(shape);
  for (int64_t k = 0; k < count; ++k) {
    if (place(k) < 0 || place(k) >= size) return std::nullopt;
  }
  if (count == 0) return std::nullopt;
  BoxSide side;
  side.start = place(0);
  const Shape strides = row_major_strides(shape);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 2) continue;
    const int64_t step = place(strides[d]) - side.start;
    if (step == 0) continue;
    if (step < 0 || side.axis != none) return std::nullopt;
    side.axis = static_cast<int>(d);
    side.step = step;
  }
  const auto axis = static_cast<size_t>(std::max(side.axis, 0));
  for (int64_t k = 0; k < count; ++k) {
    const int64_t along = side.axis == none ? 0 : k / strides[axis] % shape[axis];
    if (place(k) != side.start + side.step * along) return std::nullopt;
  }
  return side;
}

bool is_box(const UpdateBox& box, const Dims& updates) {
  for (size_t d = 0; d < updates.size(); ++d) {
    const auto count = std::count_if(box.begin(), box.end(),
                                     [&](const BoxSide& s) { return s.axis == static_cast<int>(d); });
    if (count > 1 || (count == 0 && !(updates[d] == Dim(1)))) return false;
  }
  return true;
}

namespace {

Scalar combined(ScatterCombine combine, const Scalar& old, const Scalar& update) {
  switch (combine) {
    case ScatterCombine::add:
      return old + update;
    case ScatterCombine::mul:
      return old * update;
    case ScatterCombine::min:
      return min(old, update);
    case ScatterCombine::max:
      return max(old, update);
    default:
      return update;
  }
}

/// Comparisons that always hold are left out: what a whole dimension is written to has none.
Scalar inside_of(Builder& b, const UpdateBox& box, const TensorRef& base, const TensorRef& updates,
                 const Indices& i) {
  Scalar inside = b.boolean(true);
  for (size_t d = 0; d < box.size(); ++d) {
    const BoxSide& side = box[d];
    const Dim count = side.axis == none ? Dim(1) : updates.dims()[static_cast<size_t>(side.axis)];
    const Dim end = Dim(side.start) + Dim(side.step) * count - Dim(side.step - 1);
    if (side.start > 0) inside = logical_and(inside, i[d] >= side.start);
    if (!(end == base.dims()[d])) inside = logical_and(inside, i[d] < end);
    if (side.step > 1) inside = logical_and(inside, floor_mod(i[d] - side.start, side.step) == 0);
  }
  return inside;
}

}  // namespace

TensorRef write_box(Builder& b, const TensorRef& base, const TensorRef& updates, const UpdateBox& box,
                    ScatterCombine combine) {
  return b.map(base.dims(), [&](const Indices& i) {
    Indices from(updates.dims().size(), b.integer(0));
    for (size_t d = 0; d < box.size(); ++d) {
      const BoxSide& side = box[d];
      if (side.axis == none) continue;
      const Scalar offset = side.start == 0 ? i[d] : i[d] - side.start;
      from[static_cast<size_t>(side.axis)] = side.step == 1 ? offset : floor_div(offset, side.step);
    }
    const Scalar inside = inside_of(b, box, base, updates, i);
    const Scalar old = base(i);
    if (combine == ScatterCombine::assign) return updates.guarded(from, inside, old);
    const Scalar update = updates.guarded(from, inside, b.literal(base.type(), 0));
    return select(inside, combined(combine, old, update), old);
  });
}

}  // namespace axrun::ir
