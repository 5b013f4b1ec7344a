#include "search/left_panels.h"

#include "search/transposition.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

LeftPanels::LeftPanels(PieceContext& context, const ContractionPlan& plan)
    : context_(context), form_(plan.form), sum_(*form_.sum), plan_(plan), w_(context.writer) {}

void LeftPanels::allocate(const Dim& tiles, const AxisPart& depth) {
  depth_ = depth;
  const Dim steps = depth.block == 0 ? depth.rest : Dim(depth.block);
  buffer_ =
      w_.allocate("rows_" + sum_.name, ElementType::f32, {tiles, steps, Dim(plan_.tile.rows)}, Level::cache);
}

Access LeftPanels::element(const Dim& place, const Dim& step, const Dim& row) const {
  return {buffer_, {place, step - depth_.first, row}};
}

int LeftPanels::value_at(const Dims& point, const Dim& place, const Dim& row) const {
  return w_.load(element(place, point.back(), row));
}

void LeftPanels::write(const Dims& point, const Dim& tile, const Dim& place, bool tail) {
  point_ = point;
  const int last = static_cast<int>(point_.size()) - 1;
  const int64_t height = plan_.tile.rows;
  const bool across = is_read_across(context_.program, form_.left, form_.row, last);
  if (across && height <= context_.target.lanes(4) && height > 1 && sum_.reduce_axes.back().extent != Dim(1))
    return write_squares(tile, place, tail);
  w_.loop(LoopKind::sequential, "p", depth_.tiles(1, context_.facts), [&](const Dim& p) {
    w_.loop(LoopKind::unrolled, "i1", Dim(height), [&](const Dim& i1) {
      step() = depth_.first + p;
      move_to(Dim(height) * tile + i1, tail);
      w_.store(element(place, step(), i1), Combine::assign, product());
    });
  });
}

/// Turned in registers.
void LeftPanels::write_squares(const Dim& tile, const Dim& place, bool tail) {
  const int64_t height = plan_.tile.rows, side = context_.target.lanes(4);
  const bool whole = depth_.has_whole_tiles(side, context_.facts);
  w_.loop(LoopKind::sequential, "kb", depth_.tiles(side, context_.facts), [&](const Dim& kb) {
    const Dim first = depth_.first + Dim(side) * kb;
    const Dim here = whole ? Dim(side) : min(Dim(side), depth_.rest - Dim(side) * kb);
    write_transposed(
        w_, {height, here.constant().value_or(side), Dim(height), here}, "square_" + sum_.name,
        {ElementType::f32},
        [&](size_t, const Dim& row, const Dim& column) {
          step() = first + column;
          move_to(Dim(height) * tile + row, tail);
          return product();
        },
        [&](const Dim& row, const Dim& column, const std::vector<Access>& values) {
          w_.store(element(place, first + column, row), Combine::assign, w_.load(values[0]));
        });
  });
}

void LeftPanels::move_to(const Dim& row, bool tail) {
  const AxisPart part = part_of(context_, sum_, form_.row);
  point_[static_cast<size_t>(form_.row)] = part.first + (tail ? min(row, part.rest - 1) : row);
}

int LeftPanels::product() {
  int result = context_.values.value(form_.left[0], point_);
  for (size_t k = 1; k < form_.left.size(); ++k)
    result = w_.mul(result, context_.values.value(form_.left[k], point_));
  return result;
}

}  // namespace axrun::search
