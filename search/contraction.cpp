#include "search/contraction.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "search/packed_rows.h"
#include "search/product_tile.h"

namespace axrun::search {

using ir::Dim;
using ir::ElementType;
using ir::loop::Level;
using ir::loop::LoopKind;
using Right = ContractionPlan::Right;

namespace {

class ContractionWriter {
 public:
  ContractionWriter(PieceContext& context, const ContractionPlan& plan, const PackedRight& packed, int add_to)
      : context_(context),
        form_(plan.form),
        sum_(*form_.sum),
        plan_(plan),
        w_(context.writer),
        tile_(context, plan, add_to),
        left_(context, sum_, form_.left, form_.outer, form_.row, plan.tile.rows),
        row_tiles_(row_part().tiles(plan.tile.rows, context.facts)),
        column_tiles_(part_of(context, sum_, form_.column).tiles(plan.tile.columns, context.facts)),
        narrow_rows_(has_narrow_rows()),
        open_rows_(has_open_rows(add_to)),
        narrow_tail_(has_narrow_tail()),
        panels_(context, plan, packed) {
    tile_.row_tail = !narrow_rows_ && !row_part().has_whole_tiles(plan.tile.rows, context.facts);
    if (plan.left_packed)
      tile_.left = [this](const Dim& row) { return w_.load(left_.at(tile_.point, packed_row_tile(), row)); };
    if (plan.right != Right::direct)
      tile_.right = [this](const Dim& lane) { return panels_.value_at(tile_.point, lane); };
  }

  PackedRight pack() {
    panels_.write_all(tile_.column_tail);
    return panels_.packed();
  }

  void run() {
    tile_.begin();
    if (plan_.left_packed) w_.at_beginning([&] { left_.write(); });
    if (plan_.right == Right::packed_once && panels_.packed().buffer == ir::none)
      w_.at_beginning([&] { panels_.write_all(tile_.column_tail); });
    loops(steps(), 0);
    tile_.finished();
  }

 private:
  enum class Step : uint8_t { outer, block, group, column };

  Dim extent(int axis) const { return axis == ir::none ? Dim(1) : part_of(context_, sum_, axis).rest; }
  AxisPart row_part() const {
    return form_.row == ir::none ? AxisPart{Dim(0), Dim(1)} : part_of(context_, sum_, form_.row);
  }
  /// Of all rows: packed ones are, whatever part is decided.
  Dim packed_row_tile() const {
    const AxisPart part = row_part();
    return part.block == 0 ? tile_.row_tile
                           : Dim(part.block / plan_.tile.rows) * part.number + tile_.row_tile;
  }

  std::vector<Step> steps() const {
    std::vector<Step> order(form_.outer.size(), Step::outer);
    const bool by_columns = plan_.spread == ContractionPlan::Spread::columns;
    if (by_columns) order.insert(order.begin(), Step::group);
    if (plan_.row_block != 0) {
      order.insert(plan_.spread == ContractionPlan::Spread::rows ? order.begin() : order.end(), Step::block);
    }
    order.push_back(Step::column);
    return order;
  }

  void loops(const std::vector<Step>& order, size_t k) {
    if (k == order.size()) return plan_.depth_block == 0 ? rows_at_once() : rows_in_parts();
    const bool spread = k == 0 && plan_.spread != ContractionPlan::Spread::none;
    const LoopKind kind = spread ? LoopKind::parallel : LoopKind::sequential;
    const auto next = [&] { loops(order, k + 1); };
    switch (order[k]) {
      case Step::outer: {
        const auto number = static_cast<size_t>(
            std::count(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), Step::outer));
        return w_.loop(kind_of_rows(kind), "o" + std::to_string(number), extent(form_.outer[number]),
                       [&](const Dim& o) {
                         tile_.move_to(form_.outer[number], o);
                         next();
                       });
      }
      case Step::block:
        w_.loop(kind_of_rows(kind), "ib",
                ceil_div(open_rows_ ? whole_row_tiles() : row_tiles_, Dim(plan_.row_block)),
                [&](const Dim& ib) {
                  first_row_tile_ = Dim(plan_.row_block) * ib;
                  next();
                });
        if (!open_rows_) return;
        // What no block has.
        first_row_tile_ = 0;
        last_rows_ = true;
        next();
        last_rows_ = false;
        return;
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
        const bool grouped = plan_.spread == ContractionPlan::Spread::columns;
        const auto tile = [&](const Dim& jt) {
          tile_.column_tile = first_column_tile_ + jt;
          tile_.in_widths([&] {
            prepare_panel();
            if (plan_.right == Right::packed_inside || plan_.depth_block != 0) spread_next_ = false;
            next();
          });
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
    const int64_t whole = tile_.columns().value() / plan_.tile.columns;
    const auto alone = [&](bool tail) {
      tile_.column_tail = tail;
      spread_next_ = kind == LoopKind::parallel;
      body(Dim(tail ? whole : 0));
      spread_next_ = false;
    };
    tile_.column_tail = false;
    if (whole == 1)
      alone(false);
    else
      w_.loop(kind, "jt", Dim(whole), body);
    alone(true);
  }

  /// Where the number of columns is literal. A tile by itself waits until the others are done: all cores must
  /// have as many of these, or the rows of a single one.
  bool has_narrow_tail() const {
    if (!tile_.column_tail || !tile_.columns().is_constant()) return false;
    const int64_t whole = tile_.columns().value() / plan_.tile.columns;
    // One column would be stored by elements, where its tile is made by lanes: code holds registers in one
    // way only.
    const bool one = tile_.columns().value() % plan_.tile.columns == 1;
    if (one && tile_.right_padded) return false;
    if (whole == 0 || plan_.spread != ContractionPlan::Spread::columns) return whole != 0;
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
      tile_.row_tile = first_row_tile_ + it;
      body(it);
    };
    if (open_rows_) {
      if (last_rows_) return for_last_rows(0, body);
      for_whole_rows(body);
      if (plan_.row_block == 0) for_last_rows(whole_row_tiles(), body);
      return;
    }
    if (!narrow_rows_) return w_.loop(kind_of_rows(), "it", tiles_of_block(), tile);
    const int64_t whole = tile_.rows().value() / plan_.tile.rows;
    w_.loop(kind_of_rows(), "it", Dim(whole), tile);
    tile_.height = tile_.rows().value() % plan_.tile.rows;
    tile(Dim(whole));
    tile_.height = plan_.tile.rows;
  }
  /// Where the number of rows is literal, and more than a few would be computed for nothing.
  bool has_narrow_rows() const {
    constexpr int64_t worth = 100;  // rows, of which one is computed for nothing
    if (!tile_.rows().is_constant() || plan_.row_block != 0 || form_.across) return false;
    const int64_t height = plan_.tile.rows, rest = tile_.rows().value() % height;
    return rest != 0 && tile_.rows().value() > height && (height - rest) * worth >= tile_.rows().value();
  }
  /// How many rows there are, only a run tells: the last ones are computed by the lowest of a few tiles that
  /// is high enough, and what is before reads no row twice.
  bool has_open_rows(int add_to) const {
    constexpr int64_t least = 4;
    return !tile_.rows().is_constant() && plan_.tile.rows >= least && !form_.across && !plan_.left_packed &&
           add_to == ir::none && row_part().block == 0 &&
           !row_part().has_whole_tiles(plan_.tile.rows, context_.facts);
  }
  Dim whole_row_tiles() const { return floor_div(tile_.rows(), Dim(plan_.tile.rows)); }
  void for_whole_rows(const std::function<void(const Dim& it)>& body) {
    const Dim left = whole_row_tiles() - first_row_tile_;
    tile_.row_tail = false;
    w_.loop(kind_of_rows(), "it", plan_.row_block == 0 ? left : min(Dim(plan_.row_block), left),
            [&](const Dim& it) {
              tile_.first_row = Dim(plan_.tile.rows) * (first_row_tile_ + it);
              body(it);
            });
    tile_.first_row.reset();
  }
  /// Parts of a tile that are left: by one tile of three, of two, or of one of them. number: what the body
  /// takes it for.
  void for_last_rows(const Dim& number, const std::function<void(const Dim& it)>& body) {
    constexpr int64_t heights = 3;
    const int64_t whole = plan_.tile.rows, part = (whole - 1 + heights - 1) / heights;
    const Dim done = Dim(whole) * whole_row_tiles(), left = floor_mod(tile_.rows(), Dim(whole));
    const Dim parts = ceil_div(left, Dim(part));
    const Dim three = floor_div(parts, Dim(3)), two = floor_div(parts, Dim(2)) - three;
    const Dim counts[heights] = {parts - Dim(2) * two - Dim(3) * three, two, three};
    tile_.row_tail = true;
    for (int64_t k = heights; k > 0; --k) {
      if (part * (k - 1) >= whole - 1) continue;
      tile_.height = std::min(part * k, whole);
      w_.loop(LoopKind::sequential, "it", counts[k - 1], [&](const Dim& it) {
        tile_.first_row = done + Dim(part * k) * it;
        tile_.rows_left = left - Dim(part * k) * it;
        body(number + it);
      });
    }
    tile_.height = whole;
    tile_.first_row.reset();
    tile_.rows_left.reset();
  }
  Dim tiles_of_block() const {
    if (plan_.row_block < 2) return plan_.row_block == 0 ? row_tiles_ : Dim(1);
    return min(Dim(plan_.row_block), row_tiles_ - first_row_tile_);
  }

  void rows_at_once() {
    for_row_tiles([&](const Dim&) {
      tile_.sum_up();
      tile_.store();
    });
  }

  /// Each part of k adds to the sums of a whole block of rows, which wait in the cache.
  void rows_in_parts() {
    const Dim height(plan_.tile.rows), width(plan_.tile.columns);
    const Dim tiles = plan_.row_block == 0 ? row_tiles_ : Dim(plan_.row_block);
    const int waiting =
        w_.allocate("waiting_" + sum_.name, ElementType::f32, {tiles, height, width}, Level::cache);
    for_row_tiles([&](const Dim& it) { tile_.clear(waiting, {it}); });
    const Dim depth = sum_.reduce_axes.back().extent;
    const int64_t steps = plan_.depth_block / plan_.unroll;
    w_.loop(LoopKind::sequential, "kb", ceil_div(depth, Dim(plan_.depth_block)), [&](const Dim& kb) {
      tile_.depth = {Dim(steps) * kb, steps};
      for_row_tiles([&](const Dim& it) {
        tile_.sum_up();
        tile_.add_to(waiting, {it});
      });
    });
    for_row_tiles([&](const Dim& it) { tile_.store_waiting(waiting, {it}); });
  }

  void prepare_panel() {
    if (plan_.right == Right::packed_inside) {
      panels_.write_one(tile_.point, tile_.column_tile, tile_.width, tile_.column_tail);
    } else if (plan_.right == Right::packed_once) {
      panels_.use(tile_.point, tile_.column_tile);
    }
  }

  PieceContext& context_;
  const ProductForm& form_;
  const ir::Stage& sum_;
  const ContractionPlan& plan_;
  LoopWriter& w_;
  ProductTile tile_;
  PackedRows left_;
  const Dim row_tiles_, column_tiles_;
  const bool narrow_rows_;  ///< the last tile of rows is written by itself
  const bool open_rows_;    ///< the last rows are written by tiles of several heights
  bool narrow_tail_;        ///< that of columns
  bool spread_next_ = false, last_rows_ = false;
  Dim first_row_tile_, first_column_tile_;
  RightPanels panels_;
};

}  // namespace

void write_contraction(PieceContext& context, const ContractionPlan& plan, const PackedRight& packed,
                       int add_to) {
  ContractionWriter(context, plan, packed, add_to).run();
}

PackedRight pack_right(PieceContext& context, const ContractionPlan& plan) {
  return ContractionWriter(context, plan, {}, ir::none).pack();
}

}  // namespace axrun::search
