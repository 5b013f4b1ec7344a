#include "search/product_tile.h"

#include <string>

#include "search/prepared_parts.h"
#include "search/transposition.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

ProductTile::ProductTile(PieceContext& context, const ContractionPlan& plan, int add_to)
    : point(plan.form.sum->axes.size() + plan.form.sum->reduce_axes.size(), Dim(0)),
      width(plan.tile.columns),
      height(plan.tile.rows),
      column_tail(!part_of(context, *plan.form.sum, plan.form.column)
                       .has_whole_tiles(plan.tile.columns, context.facts)),
      right_padded(plan.right != ContractionPlan::Right::direct),
      left([this](const Dim&) { return product(form_.left); }),
      right([this](const Dim&) { return product(form_.right); }),
      context_(context),
      form_(plan.form),
      sum_(*form_.sum),
      plan_(plan),
      w_(context.writer),
      values_(context.values),
      rows_(extent(form_.row)),
      columns_(extent(form_.column)),
      add_to_(add_to) {}

Dim ProductTile::extent(int axis) const {
  return axis == ir::none ? Dim(1) : part_of(context_, sum_, axis).rest;
}

void ProductTile::move_to(int axis, const Dim& place) {
  coordinate(axis) = part_of(context_, sum_, axis).first + place;
}

int ProductTile::product(const std::vector<ir::ExprId>& factors) {
  int result = values_.value(factors[0], point);
  for (size_t k = 1; k < factors.size(); ++k) result = w_.mul(result, values_.value(factors[k], point));
  return result;
}

void ProductTile::begin() {
  if (form_.epilogue != nullptr)
    prepare_parts(context_, *form_.epilogue, [this]() -> const Dims& { return map_point_; });
}

/// Narrower tiles are worth it where half of a tile, which would be computed for nothing at the end, is more
/// than a few of all columns.
std::vector<int64_t> ProductTile::last_widths() const {
  constexpr int64_t worth = 100;  // columns, of which one is computed for nothing
  constexpr int64_t most_widths = 3;
  const int64_t whole = plan_.tile.columns, lanes = context_.target.lanes(4);
  const bool open = column_tail && !columns_.is_constant() && !form_.across;
  std::vector<int64_t> widths;
  if (open && whole / 2 * worth >= context_.facts.typical(columns_)) {
    const int64_t step = (whole + lanes * most_widths - 1) / (lanes * most_widths) * lanes;
    for (int64_t narrow = step; narrow < whole; narrow += step) widths.push_back(narrow);
  }
  widths.push_back(whole);
  return widths;
}

void ProductTile::in_widths(const std::function<void()>& body) {
  const Dim left = columns_ - first_column();
  const std::vector<int64_t> widths = last_widths();
  Dim more(1);  // than the widths before: 0 or 1
  for (const int64_t here : widths) {
    const bool last = here == widths.back();
    const Dim beyond = last ? Dim(0) : min(Dim(1), max(Dim(0), left - Dim(here)));
    width = here;
    w_.loop(LoopKind::sequential, "jw", more - beyond, [&](const Dim&) { body(); });
    more = beyond;
  }
}

Dim ProductTile::first_column() const { return Dim(plan_.tile.columns) * column_tile; }

Dim ProductTile::columns_here() const {
  return column_tail ? min(Dim(width), columns_ - first_column()) : Dim(width);
}

/// In the part of the rows: row i1 of the tile.
Dim ProductTile::row_here(const Dim& i1) const {
  return first_row.value_or(Dim(plan_.tile.rows) * row_tile) + i1;
}

Dim ProductTile::rows_here() const {
  const Dim here(height);
  return row_tail ? min(here, rows_left.value_or(rows_ - row_here(0))) : here;
}

/// Columns beyond the last one are computed where they can be read: up to the next whole vector, and in all
/// of the tile where how many vectors there are is not known and masks would take registers, and instructions
/// in the innermost loop.
Dim ProductTile::lanes_computed() const {
  if (!right_padded) return columns_here();
  const Dim lanes(context_.target.lanes(4));
  const bool known = columns_.is_constant() && (column_tile.is_constant() || context_.target.masks);
  if (!column_tail || !known) return Dim(width);
  return min(Dim(width), lanes * ceil_div(columns_ - first_column(), lanes));
}

void ProductTile::for_tile(const std::function<void(const Dim& i1, const Dim& j1)>& body) {
  w_.loop(LoopKind::unrolled, "i1", Dim(height), [&](const Dim& i1) {
    w_.loop(LoopKind::vector, "j1", lanes_computed(), [&](const Dim& j1) { body(i1, j1); });
  });
}

void ProductTile::sum_up() {
  tile_ = w_.allocate("tile_" + sum_.name, ElementType::f32, {Dim(height), Dim(width)}, Level::registers);
  for_tile([&](const Dim& i1, const Dim& j1) { w_.store({tile_, {i1, j1}}, Combine::assign, w_.real(0)); });
  along_depth(0);
}

void ProductTile::store() {
  if (!plan_.copied) return finish_tile(tile_, {}, LoopKind::unrolled);
  const int copy =
      w_.allocate("copy_" + sum_.name, ElementType::f32, {Dim(height), Dim(width)}, Level::cache);
  for_tile([&](const Dim& i1, const Dim& j1) {
    w_.store({copy, {i1, j1}}, Combine::assign, w_.load({tile_, {i1, j1}}));
  });
  finish_tile(copy, {}, LoopKind::sequential);
}

namespace {

Access element_of(int buffer, const Dims& before, const Dim& i1, const Dim& j1) {
  Access element{buffer, before};
  element.indices.push_back(i1);
  element.indices.push_back(j1);
  return element;
}

}  // namespace

void ProductTile::clear(int buffer, const Dims& before) {
  for_tile([&](const Dim& i1, const Dim& j1) {
    w_.store(element_of(buffer, before, i1, j1), Combine::assign, w_.real(0));
  });
}

void ProductTile::add_to(int buffer, const Dims& before) {
  for_tile([&](const Dim& i1, const Dim& j1) {
    w_.store(element_of(buffer, before, i1, j1), Combine::add, w_.load({tile_, {i1, j1}}));
  });
}

void ProductTile::store_waiting(int buffer, const Dims& before) {
  finish_tile(buffer, before, LoopKind::unrolled);
}

/// Stores a tile whose sums are in `buffer` at {before..., i1, j1}.
void ProductTile::finish_tile(int buffer, const Dims& before, LoopKind rows) {
  if (form_.across) return finish_across(buffer, before);
  w_.loop(rows, "i1", rows_here(), [&](const Dim& i1) {
    w_.loop(LoopKind::vector, "j1", columns_here(),
            [&](const Dim& j1) { finish(element_of(buffer, before, i1, j1), i1, j1); });
  });
}

/// The same for results that are contiguous along the tile's rows.
void ProductTile::finish_across(int buffer, const Dims& before) {
  const int64_t side = context_.target.lanes(4);
  w_.loop(LoopKind::sequential, "jb", ceil_div(columns_here(), Dim(side)), [&](const Dim& jb) {
    const Dim first = Dim(side) * jb;
    const Dim here = column_tail ? min(Dim(side), columns_here() - first) : Dim(side);
    write_transposed(
        w_, {plan_.tile.rows, side, rows_here(), here}, "turned_" + sum_.name, {ElementType::f32},
        [&](size_t, const Dim& row, const Dim& column) {
          return w_.load(element_of(buffer, before, row, first + column));
        },
        [&](const Dim& row, const Dim& column, const std::vector<Access>& values) {
          finish(values[0], row, first + column);
        });
  });
}

/// The loops over k (over the part of the last one at hand), the innermost one unrolled.
void ProductTile::along_depth(size_t k) {
  const size_t last = sum_.reduce_axes.size() - 1;
  const Dim extent = sum_.reduce_axes[k].extent;
  const std::string name = "p" + std::to_string(k);
  Dim& here = point[sum_.axes.size() + k];
  if (k < last) {
    return w_.loop(LoopKind::sequential, name, extent, [&](const Dim& p) {
      here = p;
      along_depth(k + 1);
    });
  }
  const Dim by(plan_.unroll);
  const bool whole = floor_mod(extent, by) == Dim(0);
  const bool parts = depth.steps != 0;
  const AxisPart decided = part_of(context_, sum_, static_cast<int>(sum_.axes.size() + k));
  const Dim start = parts ? by * depth.first : decided.first;
  Dim steps = parts ? ceil_div(extent, by) : decided.tiles(plan_.unroll, context_.facts);
  if (parts) {
    const bool even = floor_mod(extent, by * Dim(depth.steps)) == Dim(0);
    steps = even ? Dim(depth.steps) : min(Dim(depth.steps), steps - depth.first);
  }
  if (plan_.side_by_side && !parts && decided.block == 0) {
    const Dim part(extent.value() / plan_.unroll);
    return w_.loop(LoopKind::sequential, name, part, [&](const Dim& p) {
      w_.loop(LoopKind::unrolled, "u", by, [&](const Dim& u) {
        here = p + part * u;
        for_tile([&](const Dim& i1, const Dim& j1) { accumulate(i1, j1); });
      });
    });
  }
  w_.loop(LoopKind::sequential, name, steps, [&](const Dim& p) {
    w_.loop(LoopKind::unrolled, "u", whole ? by : min(by, extent - start - by * p), [&](const Dim& u) {
      here = start + by * p + u;
      for_tile([&](const Dim& i1, const Dim& j1) { accumulate(i1, j1); });
    });
  });
}

/// Rows beyond the last one are computed from the last one again; nothing of them is stored.
void ProductTile::accumulate(const Dim& i1, const Dim& j1) {
  const Dim row = row_here(i1), column = first_column() + j1;
  if (form_.row != ir::none) move_to(form_.row, row_tail ? min(row, rows_ - 1) : row);
  move_to(form_.column, column);
  const int left_value = left(i1), right_value = right(j1);
  if (form_.row != ir::none) move_to(form_.row, row);
  w_.store({tile_, {i1, j1}}, Combine::add, w_.mul(left_value, right_value), sum_.name, point);
}

void ProductTile::finish(const Access& element, const Dim& i1, const Dim& j1) {
  const Dim row = row_here(i1), column = first_column() + j1;
  if (add_to_ != ir::none) return w_.store({add_to_, {row, column}}, Combine::add, w_.load(element));
  if (form_.row != ir::none) move_to(form_.row, row);
  move_to(form_.column, column);
  if (form_.epilogue == nullptr) {
    const Dims axes(point.begin(), point.begin() + static_cast<std::ptrdiff_t>(sum_.axes.size()));
    return w_.store(result_at(context_, sum_, axes), Combine::assign, w_.load(element));
  }
  const ir::Stage& map = *form_.epilogue;
  map_point_.clear();
  for (const int axis : form_.epilogue_axes) map_point_.push_back(axis == -1 ? Dim(0) : coordinate(axis));
  values_.read_at(sum_.results[0], [element](const Dims&) { return element; });
  w_.store(result_at(context_, map, map_point_), Combine::assign, values_.value(map.body[0], map_point_),
           map.name, map_point_);
}

}  // namespace axrun::search
