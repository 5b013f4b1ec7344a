#include "search/contraction.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "ir/error.h"
#include "search/packed_rows.h"
#include "search/prepared_parts.h"
#include "search/transposition.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Program;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;
using Right = ContractionPlan::Right;
using Spread = ContractionPlan::Spread;

namespace {

class Writer {
 public:
  Writer(PieceContext& context, const ContractionPlan& plan, const PackedRight& packed, int add_to)
      : context_(context),
        program_(context.program),
        form_(plan.form),
        sum_(*form_.sum),
        plan_(plan),
        w_(context.writer),
        values_(context.values),
        left_(context, sum_, form_.left, form_.outer, form_.row, plan.tile.rows),
        rows_(extent(form_.row)),
        columns_(extent(form_.column)),
        row_tiles_(row_part().tiles(plan.tile.rows, context.facts)),
        column_tiles_(part_of(context, sum_, form_.column).tiles(plan.tile.columns, context.facts)),
        height_(plan.tile.rows),
        narrow_rows_(has_narrow_rows()),
        row_tail_(!narrow_rows_ && !row_part().has_whole_tiles(plan.tile.rows, context.facts)),
        column_tail_(!part_of(context, sum_, form_.column).has_whole_tiles(plan.tile.columns, context.facts)),
        narrow_tail_(has_narrow_tail()),
        point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)),
        panels_(context, plan, packed),
        add_to_(add_to) {}

  PackedRight pack() {
    panels_.write_all(column_tail_);
    return panels_.packed();
  }

  void run() {
    if (form_.epilogue != nullptr)
      prepare_parts(context_, *form_.epilogue, [this]() -> const Dims& { return map_point_; });
    if (plan_.left_packed) w_.at_beginning([&] { left_.write(); });
    if (plan_.right == Right::packed_once && panels_.packed().buffer == ir::none)
      w_.at_beginning([&] { panels_.write_all(column_tail_); });
    loops(steps(), 0);
    values_.clear_values();
  }

 private:
  enum class Step : uint8_t { outer, block, group, column };

  Dim extent(int axis) const { return axis == ir::none ? Dim(1) : part_of(context_, sum_, axis).rest; }
  AxisPart row_part() const {
    return form_.row == ir::none ? AxisPart{Dim(0), Dim(1)} : part_of(context_, sum_, form_.row);
  }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  /// To a place in the part of the axis that is written.
  void move_to(int axis, const Dim& place) { coordinate(axis) = part_of(context_, sum_, axis).first + place; }

  /// Columns of a tile that exist.
  Dim columns_of(const Dim& jt) const {
    const Dim width(plan_.tile.columns);
    return column_tail_ ? min(width, columns_ - width * jt) : width;
  }
  /// Of all rows: packed ones are, whatever part is decided.
  Dim packed_row_tile() const {
    const AxisPart part = row_part();
    return part.block == 0 ? row_tile_ : Dim(part.block / plan_.tile.rows) * part.number + row_tile_;
  }
  Dim rows_of(const Dim& it) const {
    const Dim height(height_);
    return row_tail_ ? min(height, rows_ - height * it) : height;
  }

  int product(const std::vector<ir::ExprId>& factors) {
    int result = values_.value(factors[0], point_);
    for (size_t k = 1; k < factors.size(); ++k) result = w_.mul(result, values_.value(factors[k], point_));
    return result;
  }

  // --- the loops over tiles ---

  std::vector<Step> steps() const {
    std::vector<Step> order(form_.outer.size(), Step::outer);
    const bool by_columns = plan_.spread == Spread::columns;
    if (by_columns) order.insert(order.begin(), Step::group);
    if (plan_.row_block != 0) {
      order.insert(plan_.spread == Spread::rows ? order.begin() : order.end(), Step::block);
    }
    order.push_back(Step::column);
    return order;
  }

  void loops(const std::vector<Step>& order, size_t k) {
    if (k == order.size()) return plan_.depth_block == 0 ? rows_at_once() : rows_in_parts();
    const bool spread = k == 0 && plan_.spread != Spread::none;
    const LoopKind kind = spread ? LoopKind::parallel : LoopKind::sequential;
    const auto next = [&] { loops(order, k + 1); };
    switch (order[k]) {
      case Step::outer: {
        const auto number = static_cast<size_t>(
            std::count(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), Step::outer));
        return w_.loop(kind_of_rows(kind), "o" + std::to_string(number), extent(form_.outer[number]),
                       [&](const Dim& o) {
                         move_to(form_.outer[number], o);
                         next();
                       });
      }
      case Step::block:
        return w_.loop(kind_of_rows(kind), "ib", ceil_div(row_tiles_, Dim(plan_.row_block)),
                       [&](const Dim& ib) {
                         first_row_tile_ = Dim(plan_.row_block) * ib;
                         next();
                       });
      case Step::group: {
        const auto group = [&](const Dim& jg) {
          first_column_tile_ = Dim(plan_.column_group) * jg;
          next();
        };
        const Dim count = ceil_div(column_tiles_, Dim(plan_.column_group));
        if (!narrow_tail_) return w_.loop(kind, plan_.column_group == 1 ? "jt" : "jg", count, group);
        return with_narrow_tail(kind, group);
      }
      case Step::column: {
        const bool grouped = plan_.spread == Spread::columns;
        const auto tile = [&](const Dim& jt) {
          column_tile_ = first_column_tile_ + jt;
          prepare_panel();
          if (plan_.right == Right::packed_inside || plan_.depth_block != 0) spread_next_ = false;
          next();
        };
        if (narrow_tail_) return grouped ? tile(Dim(0)) : with_narrow_tail(LoopKind::sequential, tile);
        const Dim left = column_tiles_ - first_column_tile_;
        const Dim count = !grouped                  ? column_tiles_
                          : plan_.column_group == 1 ? Dim(1)
                                                    : min(Dim(plan_.column_group), left);
        return w_.loop(LoopKind::sequential, "jt", count, tile);
      }
    }
  }

  /// Tiles of columns, the last one by itself: its width is literal, so that nothing is computed beyond.
  void with_narrow_tail(LoopKind kind, const std::function<void(const Dim& jt)>& body) {
    const int64_t whole = columns_.value() / plan_.tile.columns;
    const auto alone = [&](bool tail) {
      column_tail_ = tail;
      spread_next_ = kind == LoopKind::parallel;
      body(Dim(tail ? whole : 0));
      spread_next_ = false;
    };
    column_tail_ = false;
    if (whole == 1)
      alone(false);
    else
      w_.loop(kind, "jt", Dim(whole), body);
    alone(true);
  }

  /// Where the number of columns is literal. A tile by itself waits until the others are done: all cores must
  /// have as many of these, or the rows of a single one.
  bool has_narrow_tail() const {
    if (!column_tail_ || !columns_.is_constant()) return false;
    const int64_t whole = columns_.value() / plan_.tile.columns;
    if (whole == 0 || plan_.spread != Spread::columns) return whole != 0;
    const bool rows_inside = plan_.depth_block == 0 && plan_.right != Right::packed_inside;
    const bool spreads_rows = !form_.outer.empty() || plan_.row_block != 0 || rows_inside;
    return plan_.column_group == 1 && (whole % context_.target.cores == 0 || (whole == 1 && spreads_rows));
  }

  /// Of a loop around rows: the first one of a tile that is written by itself is spread.
  LoopKind kind_of_rows(LoopKind otherwise = LoopKind::sequential) {
    return std::exchange(spread_next_, false) ? LoopKind::parallel : otherwise;
  }

  /// body(tile of the block) for every tile of rows of the block at hand.
  void for_row_tiles(const std::function<void(const Dim& it)>& body) {
    const auto tile = [&](const Dim& it) {
      row_tile_ = first_row_tile_ + it;
      body(it);
    };
    if (!narrow_rows_) return w_.loop(kind_of_rows(), "it", tiles_of_block(), tile);
    const int64_t whole = rows_.value() / plan_.tile.rows;
    w_.loop(kind_of_rows(), "it", Dim(whole), tile);
    height_ = rows_.value() % plan_.tile.rows;
    tile(Dim(whole));
    height_ = plan_.tile.rows;
  }
  /// Where the number of rows is literal, and more than a few would be computed for nothing.
  bool has_narrow_rows() const {
    constexpr int64_t worth = 100;  // rows, of which one is computed for nothing
    if (!rows_.is_constant() || plan_.row_block != 0 || form_.across) return false;
    const int64_t height = plan_.tile.rows, rest = rows_.value() % height;
    return rest != 0 && rows_.value() > height && (height - rest) * worth >= rows_.value();
  }
  Dim tiles_of_block() const {
    if (plan_.row_block < 2) return plan_.row_block == 0 ? row_tiles_ : Dim(1);
    return min(Dim(plan_.row_block), row_tiles_ - first_row_tile_);
  }

  void rows_at_once() {
    for_row_tiles([&](const Dim&) {
      make_tile();
      inner_depth(0);
      if (!plan_.copied) return finish_tile(tile_, {});
      const Dim height(height_), width(plan_.tile.columns);
      const int copy = w_.allocate("copy_" + sum_.name, ElementType::f32, {height, width}, Level::cache);
      for_tile([&](const Dim& i1, const Dim& j1) {
        w_.store({copy, {i1, j1}}, Combine::assign, w_.load({tile_, {i1, j1}}));
      });
      finish_tile(copy, {}, LoopKind::sequential);
    });
  }

  /// Each part of k adds to the sums of a whole block of rows, which wait in the cache.
  void rows_in_parts() {
    const Dim height(plan_.tile.rows), width(plan_.tile.columns);
    const Dim tiles = plan_.row_block == 0 ? row_tiles_ : Dim(plan_.row_block);
    const int waiting =
        w_.allocate("waiting_" + sum_.name, ElementType::f32, {tiles, height, width}, Level::cache);
    const auto each = [&](const Dim& it, const std::function<void(const Access&, const Access&)>& body) {
      w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
        w_.loop(LoopKind::vector, "j1", lanes_computed(), [&](const Dim& j1) {
          body({waiting, {it, i1, j1}}, {tile_, {i1, j1}});
        });
      });
    };
    for_row_tiles([&](const Dim& it) {
      each(it, [&](const Access& sum, const Access&) { w_.store(sum, Combine::assign, w_.real(0)); });
    });
    const Dim depth = sum_.reduce_axes.back().extent;
    w_.loop(LoopKind::sequential, "kb", ceil_div(depth, Dim(plan_.depth_block)), [&](const Dim& kb) {
      part_ = kb;
      for_row_tiles([&](const Dim& it) {
        make_tile();
        inner_depth(0);
        each(it, [&](const Access& sum, const Access& part) { w_.store(sum, Combine::add, w_.load(part)); });
      });
    });
    for_row_tiles([&](const Dim& it) { finish_tile(waiting, {it}); });
  }

  void prepare_panel() {
    if (plan_.right == Right::packed_inside) {
      panels_.write_one(point_, column_tile_, column_tail_);
    } else if (plan_.right == Right::packed_once) {
      panels_.use(point_, column_tile_);
    }
  }

  // --- one tile ---

  /// Columns beyond the last one are computed where the panel has them, up to the next whole vector.
  Dim lanes_computed() const {
    if (plan_.right == Right::direct) return columns_of(column_tile_);
    const Dim width(plan_.tile.columns), lanes(context_.target.lanes(4));
    if (!column_tail_ || !columns_.is_constant()) return width;
    return min(width, lanes * ceil_div(columns_ - width * column_tile_, lanes));
  }

  void for_tile(const std::function<void(const Dim& i1, const Dim& j1)>& body) {
    w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", lanes_computed(), [&](const Dim& j1) { body(i1, j1); });
    });
  }

  void make_tile() {
    const Dim height(height_), width(plan_.tile.columns);
    tile_ = w_.allocate("tile_" + sum_.name, ElementType::f32, {height, width}, Level::registers);
    for_tile([&](const Dim& i1, const Dim& j1) { w_.store({tile_, {i1, j1}}, Combine::assign, w_.real(0)); });
  }

  /// Stores a tile whose sums are in `buffer` at {before..., i1, j1}.
  void finish_tile(int buffer, const Dims& before, LoopKind rows = LoopKind::unrolled) {
    if (form_.across) return finish_across(buffer, before);
    w_.loop(rows, "i1", rows_of(row_tile_), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", columns_of(column_tile_), [&](const Dim& j1) {
        Access element{buffer, before};
        element.indices.push_back(i1);
        element.indices.push_back(j1);
        finish(element, i1, j1);
      });
    });
  }

  /// The same for results that are contiguous along the tile's rows.
  void finish_across(int buffer, const Dims& before) {
    const int64_t side = context_.target.lanes(4);
    const auto at = [&](const Dim& i1, const Dim& j1) {
      Access element{buffer, before};
      element.indices.push_back(i1);
      element.indices.push_back(j1);
      return element;
    };
    w_.loop(LoopKind::sequential, "jb", ceil_div(columns_of(column_tile_), Dim(side)), [&](const Dim& jb) {
      const Dim first = Dim(side) * jb;
      const Dim here = column_tail_ ? min(Dim(side), columns_of(column_tile_) - first) : Dim(side);
      write_transposed(
          w_, {plan_.tile.rows, side, rows_of(row_tile_), here}, "turned_" + sum_.name, {ElementType::f32},
          [&](size_t, const Dim& row, const Dim& column) { return w_.load(at(row, first + column)); },
          [&](const Dim& row, const Dim& column, const std::vector<Access>& values) {
            finish(values[0], row, first + column);
          });
    });
  }

  /// The loops over k (over the part of the last one at hand), the innermost one unrolled.
  void inner_depth(size_t k) {
    const size_t last = sum_.reduce_axes.size() - 1;
    const Dim extent = sum_.reduce_axes[k].extent;
    const std::string name = "p" + std::to_string(k);
    Dim& here = point_[sum_.axes.size() + k];
    if (k < last) {
      return w_.loop(LoopKind::sequential, name, extent, [&](const Dim& p) {
        here = p;
        inner_depth(k + 1);
      });
    }
    const Dim by(plan_.unroll);
    const bool whole = floor_mod(extent, by) == Dim(0);
    const bool parts = plan_.depth_block != 0;
    const AxisPart decided = part_of(context_, sum_, static_cast<int>(sum_.axes.size() + k));
    const Dim start = parts ? Dim(plan_.depth_block) * part_ : decided.first;
    Dim steps = parts ? ceil_div(extent, by) : decided.tiles(plan_.unroll, context_.facts);
    if (parts) {
      const int64_t most = plan_.depth_block / plan_.unroll;
      const bool even = floor_mod(extent, Dim(plan_.depth_block)) == Dim(0);
      steps = even ? Dim(most) : min(Dim(most), steps - Dim(most) * part_);
    }
    w_.loop(LoopKind::sequential, name, steps, [&](const Dim& p) {
      w_.loop(LoopKind::unrolled, "u", whole ? by : min(by, extent - start - by * p), [&](const Dim& u) {
        here = start + by * p + u;
        for_tile([&](const Dim& i1, const Dim& j1) { accumulate(i1, j1); });
      });
    });
  }

  /// Rows beyond the last one are computed from the last one again; nothing of them is stored.
  void accumulate(const Dim& i1, const Dim& j1) {
    const Dim row = Dim(plan_.tile.rows) * row_tile_ + i1;
    const Dim column = Dim(plan_.tile.columns) * column_tile_ + j1;
    if (form_.row != ir::none) move_to(form_.row, row_tail_ ? min(row, rows_ - 1) : row);
    move_to(form_.column, column);
    const int left =
        plan_.left_packed ? w_.load(left_.at(point_, packed_row_tile(), i1)) : product(form_.left);
    const int right = plan_.right == Right::direct ? product(form_.right) : panels_.value_at(point_, j1);
    if (form_.row != ir::none) move_to(form_.row, row);
    w_.store({tile_, {i1, j1}}, Combine::add, w_.mul(left, right), sum_.name, point_);
  }

  void finish(const Access& element, const Dim& i1, const Dim& j1) {
    const Dim row = Dim(plan_.tile.rows) * row_tile_ + i1,
              column = Dim(plan_.tile.columns) * column_tile_ + j1;
    if (add_to_ != ir::none) return w_.store({add_to_, {row, column}}, Combine::add, w_.load(element));
    if (form_.row != ir::none) move_to(form_.row, row);
    move_to(form_.column, column);
    if (form_.epilogue == nullptr) {
      const Dims point(point_.begin(), point_.begin() + static_cast<std::ptrdiff_t>(sum_.axes.size()));
      return w_.store(result_at(context_, sum_, point), Combine::assign, w_.load(element));
    }
    const ir::Stage& map = *form_.epilogue;
    map_point_.clear();
    for (const int axis : form_.epilogue_axes) map_point_.push_back(axis == -1 ? Dim(0) : coordinate(axis));
    values_.read_at(sum_.results[0], [element](const Dims&) { return element; });
    w_.store(result_at(context_, map, map_point_), Combine::assign, values_.value(map.body[0], map_point_),
             map.name, map_point_);
  }

  PieceContext& context_;
  const Program& program_;
  const ProductForm& form_;
  const ir::Stage& sum_;
  const ContractionPlan& plan_;
  LoopWriter& w_;
  StageValues& values_;
  PackedRows left_;
  const Dim rows_, columns_, row_tiles_, column_tiles_;
  int64_t height_;          ///< of the tile at hand
  const bool narrow_rows_;  ///< the last tile of rows is written by itself
  const bool row_tail_;
  bool column_tail_;  ///< of the tiles at hand
  bool narrow_tail_;  ///< the last tile is written by itself
  bool spread_next_ = false;
  Dims map_point_;  ///< of the epilogue, where it is computed
  Dims point_;      ///< of the sum: axes, then reduce axes
  Dim first_row_tile_, first_column_tile_, row_tile_, column_tile_;
  Dim part_;  ///< of k
  RightPanels panels_;
  int add_to_;
  int tile_ = ir::none;
};

}  // namespace

void write_contraction(PieceContext& context, const ContractionPlan& plan, const PackedRight& packed,
                       int add_to) {
  Writer(context, plan, packed, add_to).run();
}

PackedRight pack_right(PieceContext& context, const ContractionPlan& plan) {
  return Writer(context, plan, {}, ir::none).pack();
}

}  // namespace axrun::search
