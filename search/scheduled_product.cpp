#include "search/scheduled_product.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "ir/error.h"
#include "search/left_panels.h"
#include "search/packed_rows.h"
#include "search/product_tile.h"
#include "search/right_panels.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Level;
using ir::loop::LoopKind;
using schedules::Axis;
using schedules::Decision;
using schedules::Operand;
using Kind = Decision::Kind;
using Right = ContractionPlan::Right;

namespace {

class ScheduledProductWriter {
 public:
  ScheduledProductWriter(PieceContext& context, const ScheduledPlan& plan)
      : context_(context),
        form_(plan.product.form),
        sum_(*form_.sum),
        schedule_(plan),
        plan_(plan.product),
        w_(context.writer),
        tile_(context, plan_),
        packed_rows_(context, sum_, form_.left, form_.outer, form_.row, plan_.tile.rows),
        left_(context, plan_),
        right_(context, plan_, {}),
        rows_(whole(tile_.rows())),
        columns_(whole(tile_.columns())),
        depth_(whole(sum_.reduce_axes[0].extent)) {
    tile_.row_tail = !rows_.has_whole_tiles(plan_.tile.rows, context.facts);
    if (plan_.left_packed)
      tile_.left = [this](const Dim& row) {
        return w_.load(packed_rows_.at(tile_.point, tile_.row_tile, row));
      };
    if (plan_.right == Right::packed_once)
      tile_.right = [this](const Dim& lane) { return right_.value_at(tile_.point, lane); };
  }

  void run() {
    tile_.begin();
    if (plan_.left_packed) w_.at_beginning([&] { packed_rows_.write(); });
    if (plan_.right == Right::packed_once) w_.at_beginning([&] { right_.write_all(tile_.column_tail); });
    // A spread loop is the outermost one.
    const auto& decisions = schedule_.decisions;
    if (!decisions.empty() && decisions[0].kind == Kind::spread)
      loop(LoopKind::parallel, decisions[0].axis, decisions[0].size, [&] { outer(0, 1); });
    else
      outer(0, 0);
    tile_.finished();
  }

 private:
  static AxisPart whole(const Dim& extent) { return {Dim(0), extent, 0, Dim(0), extent}; }
  AxisPart& part(Axis axis) { return axis == Axis::rows ? rows_ : axis == Axis::columns ? columns_ : depth_; }
  /// Tiles in registers that a part has, at most.
  Dim most_tiles(const AxisPart& part, int64_t tile) const {
    return part.block == 0 ? part.tiles(tile, context_.facts) : Dim(part.block / tile);
  }
  /// The number of a tile among all, and among those of the part in which something was moved.
  static Dim tile_number(const AxisPart& part, int64_t tile) {
    return part.block == 0 ? Dim(0) : Dim(part.block / tile) * part.number;
  }

  /// The outer axes from k on, then the decisions from `first` on.
  void outer(size_t k, size_t first) {
    if (k == form_.outer.size()) return step(first);
    const int axis = form_.outer[k];
    const LoopKind kind = k == 0 && schedule_.spread_outer ? LoopKind::parallel : LoopKind::sequential;
    w_.loop(kind, "o" + std::to_string(k), part_of(context_, sum_, axis).rest, [&](const Dim& o) {
      tile_.move_to(axis, o);
      outer(k + 1, first);
    });
  }

  void step(size_t n) {
    if (n == schedule_.decisions.size()) return tiles([&] { tile_.in_widths([&] { multiply(); }); });
    const Decision& decision = schedule_.decisions[n];
    switch (decision.kind) {
      case Kind::tile:
        return loop(LoopKind::sequential, decision.axis, decision.size, [&] { step(n + 1); });
      case Kind::move:
        if (decision.operand == Operand::left) return move_left([&] { step(n + 1); });
        return move_right([&] { step(n + 1); });
      case Kind::accumulate:
        return collect([&] { step(n + 1); });
      case Kind::spread:
      case Kind::kernel:
        break;
    }
    AXRUN_ASSERT(false);
  }

  /// Over the part of an axis in pieces of a size.
  void loop(LoopKind kind, Axis axis, int64_t size, const std::function<void()>& body) {
    static constexpr const char* names[] = {"i", "j", "k"};
    const AxisPart before = part(axis);
    if (before.block == size) return body();
    if (kind == LoopKind::sequential && axis != Axis::depth && has_narrow_tail(axis, before, size))
      return with_narrow_tail(axis, before, body);
    const Dim pieces = before.tiles(size, context_.facts);
    w_.loop(kind, names[static_cast<size_t>(axis)], pieces, [&](const Dim& piece) {
      part(axis) = piece_of(before, piece, size);
      body();
    });
    part(axis) = before;
  }

  static AxisPart piece_of(const AxisPart& before, const Dim& piece, int64_t size) {
    AxisPart result = before;
    result.first = before.first + Dim(size) * piece;
    result.rest = before.rest - Dim(size) * piece;
    result.number = before.block == 0 ? piece : Dim(before.block / size) * before.number + piece;
    result.block = size;
    return result;
  }

  /// The last tile is written by itself where all tiles are passed and their number is literal: what is left
  /// over has a literal size then.
  bool has_narrow_tail(Axis axis, const AxisPart& part, int64_t size) const {
    const int64_t unit = axis == Axis::rows ? plan_.tile.rows : plan_.tile.columns;
    if (part.block != 0 || size != unit || !part.rest.is_constant()) return false;
    if (axis == Axis::rows && form_.across) return false;
    // One column would be stored by elements, where its tile is made by lanes: code holds registers in one
    // way only.
    if (axis == Axis::columns && part.rest.value() % unit == 1 && pads_right()) return false;
    return part.rest.value() > unit && part.rest.value() % unit != 0;
  }
  /// Columns beyond the last one can be read: all of a tile is computed.
  bool pads_right() const {
    return plan_.right != Right::direct ||
           std::any_of(schedule_.decisions.begin(), schedule_.decisions.end(), [](const Decision& decision) {
             return decision.kind == Kind::move && decision.operand == Operand::right;
           });
  }

  void with_narrow_tail(Axis axis, const AxisPart& before, const std::function<void()>& body) {
    const int64_t unit = axis == Axis::rows ? plan_.tile.rows : plan_.tile.columns;
    const int64_t count = before.rest.value() / unit;
    bool& tail = axis == Axis::rows ? tile_.row_tail : tile_.column_tail;
    const auto at = [&](const Dim& piece) {
      part(axis) = piece_of(before, piece, unit);
      body();
    };
    tail = false;
    w_.loop(LoopKind::sequential, axis == Axis::rows ? "i" : "j", Dim(count), at);
    // What is left over has fewer rows; of columns, fewer lanes.
    if (axis == Axis::rows) tile_.height = before.rest.value() % unit;
    tail = axis == Axis::columns;
    at(Dim(count));
    tail = true;
    tile_.height = plan_.tile.rows;
    part(axis) = before;
  }

  /// body for each tile in registers of the parts of rows and columns at hand.
  void tiles(const std::function<void()>& body) {
    loop(LoopKind::sequential, Axis::columns, plan_.tile.columns,
         [&] { loop(LoopKind::sequential, Axis::rows, plan_.tile.rows, [&] { at_tile(body); }); });
  }
  void at_tile(const std::function<void()>& body) {
    tile_.row_tile = tile_number(rows_, plan_.tile.rows);
    tile_.column_tile = tile_number(columns_, plan_.tile.columns);
    body();
  }

  void multiply() {
    if (right_at_) right_.use_in_part(tile_.column_tile - *right_at_);
    if (plan_.right == Right::packed_once) right_.use(tile_.point, tile_.column_tile);
    const int64_t steps = depth_.block / plan_.unroll;
    tile_.depth = {Dim(steps) * depth_.number, steps};
    tile_.sum_up();
    if (!waiting_) return tile_.store();
    tile_.add_to(waiting_->buffer, waiting_place());
  }

  void move_left(const std::function<void()>& body) {
    const int64_t height = plan_.tile.rows;
    const Dim first = tile_number(rows_, height);
    left_.allocate(most_tiles(rows_, height), depth_);
    loop(LoopKind::sequential, Axis::rows, height, [&] {
      const Dim tile = tile_number(rows_, height);
      left_.write(tile_.point, tile, tile - first, tile_.row_tail || tile_.height != height);
    });
    const auto before = std::exchange(tile_.left, [this, first](const Dim& row) {
      return left_.value_at(tile_.point, tile_.row_tile - first, row);
    });
    body();
    tile_.left = before;
  }

  void move_right(const std::function<void()>& body) {
    const int64_t width = plan_.tile.columns;
    const Dim first = tile_number(columns_, width);
    right_.allocate_part(most_tiles(columns_, width), depth_);
    loop(LoopKind::sequential, Axis::columns, width, [&] {
      const Dim tile = tile_number(columns_, width);
      right_.write_in_part(tile_.point, tile, tile - first, tile_.column_tail);
    });
    right_at_ = first;
    const auto before =
        std::exchange(tile_.right, [this](const Dim& lane) { return right_.value_at(tile_.point, lane); });
    const bool padded = std::exchange(tile_.right_padded, true);
    body();
    tile_.right = before;
    tile_.right_padded = padded;
    right_at_.reset();
  }

  /// Sums wait in the cache, tile by tile, while parts of the depth are added to them.
  void collect(const std::function<void()>& body) {
    const int64_t height = plan_.tile.rows, width = plan_.tile.columns;
    const Dims dims = {most_tiles(rows_, height), most_tiles(columns_, width), Dim(height), Dim(width)};
    waiting_ = {w_.allocate("waiting_" + sum_.name, ElementType::f32, dims, Level::cache),
                tile_number(rows_, height), tile_number(columns_, width)};
    // All of it: tiles by themselves at the ends differ from place to place.
    w_.loop(LoopKind::sequential, "i", dims[0], [&](const Dim& i) {
      w_.loop(LoopKind::sequential, "j", dims[1], [&](const Dim& j) {
        w_.loop(LoopKind::unrolled, "i1", dims[2], [&](const Dim& i1) {
          w_.loop(LoopKind::vector, "j1", dims[3], [&](const Dim& j1) {
            w_.store({waiting_->buffer, {i, j, i1, j1}}, ir::loop::Combine::assign, w_.real(0));
          });
        });
      });
    });
    body();
    tiles([&] { tile_.store_waiting(waiting_->buffer, waiting_place()); });
    waiting_.reset();
  }
  Dims waiting_place() const {
    return {tile_.row_tile - waiting_->row_tile, tile_.column_tile - waiting_->column_tile};
  }

  struct Waiting {
    int buffer = ir::none;
    Dim row_tile, column_tile;  ///< of its first tile
  };

  PieceContext& context_;
  const ProductForm& form_;
  const ir::Stage& sum_;
  const ScheduledPlan& schedule_;
  const ContractionPlan& plan_;
  LoopWriter& w_;
  ProductTile tile_;
  PackedRows packed_rows_;
  LeftPanels left_;
  RightPanels right_;
  AxisPart rows_, columns_, depth_;  ///< what loops have decided
  std::optional<Dim> right_at_;      ///< the first tile of panels that were moved
  std::optional<Waiting> waiting_;
};

}  // namespace

std::vector<Decision> written_decisions(const ScheduledPlan& plan, const std::vector<Decision>& decisions) {
  const ContractionPlan& product = plan.product;
  const auto is_along_depth = [](const Decision& d) { return d.kind == Kind::tile && d.axis == Axis::depth; };
  bool parts = false, left_arranged = product.left_packed || product.tile.rows == 1;
  bool right_arranged = product.right == Right::packed_once;
  for (const Decision& decision : decisions) parts = parts || is_along_depth(decision);
  std::vector<Decision> written;
  for (const Decision& decision : decisions) {
    switch (decision.kind) {
      case Kind::kernel:
        continue;
      case Kind::accumulate:
        if (!parts) continue;
        break;
      case Kind::move: {
        if (decision.operand == Operand::result || decision.layout != schedules::Layout::panels) continue;
        bool& arranged = decision.operand == Operand::left ? left_arranged : right_arranged;
        if (std::exchange(arranged, true)) continue;
        break;
      }
      case Kind::tile:
      case Kind::spread:
        break;
    }
    Decision plain = decision;
    // Where it is near depends on what is done with it.
    plain.level = 0;
    written.push_back(plain);
  }
  return written;
}

std::string to_text(const ScheduledPlan& plan) {
  std::string text = "tile " + std::to_string(plan.product.tile.rows) + "x" +
                     std::to_string(plan.product.tile.columns) + (plan.product.form.across ? " turned" : "");
  if (plan.spread_outer) text += "; spread batch";
  for (const Decision& decision : plan.decisions) {
    const bool move = decision.kind == Kind::move;
    text += "; " + (move ? "arrange " + std::string(name_of(decision.operand)) : to_text(decision));
  }
  return text;
}

void write_scheduled_product(PieceContext& context, const ScheduledPlan& plan) {
  ScheduledProductWriter(context, plan).run();
}

}  // namespace axrun::search
