#include "search/pixels.h"

#include <functional>
#include <string>

#include "search/gathered_result.h"
#include "search/packed_rows.h"
#include "search/padded_lines.h"
#include "search/term_loops.h"
#include "search/transposition.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class PixelsWriter {
 public:
  PixelsWriter(PieceContext& context, const PixelsForm& form, const PixelsPlan& plan)
      : form_(form),
        sum_(*form.sum.sum),
        plan_(plan),
        w_(context.writer),
        values_(context.values),
        constants_(context, sum_, form.sum.left, form.sum.outer, form.sum.row, plan.tile.columns),
        lines_(context, form),
        finished_(context, form.sum),
        lanes_(context.target.lanes(4)),
        width_(extent(form.sum.place).value()),
        rows_(extent(form.sum.row).value()),
        places_(plan.tile.rows / plan.tile_lines),
        tiles_of_line_((width_ + places_ - 1) / places_),
        row_tiles_((rows_ + plan.tile.columns - 1) / plan.tile.columns),
        even_(context.facts.is_multiple(extent(form.sum.line), plan.lines)),
        point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)) {}

  void run() {
    finished_.prepare();
    w_.at_beginning([&] { constants_.write(); });
    if (plan_.spread == PixelsPlan::Spread::groups) {
      groups([&] { outer(0, [&] { group(); }); });
    } else {
      pieces([&] { outer(0, [&] { groups([&] { group(); }); }); });
    }
    values_.clear_values();
  }

 private:
  using Body = std::function<void()>;

  const Dim& extent(int axis) const { return sum_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  LoopKind kind(PixelsPlan::Spread spread) const {
    return plan_.spread == spread ? LoopKind::parallel : LoopKind::sequential;
  }

  // --- the loops around tiles ---

  /// Tiles of rows, where these are spread: every worker copies lines for itself.
  void pieces(const Body& body) {
    if (plan_.spread != PixelsPlan::Spread::rows) return body();
    const int64_t piece = plan_.rows_of_piece;
    w_.loop(LoopKind::parallel, "ib", Dim((row_tiles_ + piece - 1) / piece), [&](const Dim& ib) {
      first_row_tile_ = Dim(piece) * ib;
      body();
    });
  }

  void outer(size_t k, const Body& body) {
    if (k == form_.sum.outer.size()) return body();
    w_.loop(k == 0 ? kind(PixelsPlan::Spread::outer) : LoopKind::sequential, "o" + std::to_string(k),
            extent(form_.sum.outer[k]), [&](const Dim& o) {
              coordinate(form_.sum.outer[k]) = o;
              outer(k + 1, body);
            });
  }

  void groups(const Body& body) {
    const Dim& all = extent(form_.sum.line);
    w_.loop(kind(PixelsPlan::Spread::groups), "jg", ceil_div(all, Dim(plan_.lines)), [&](const Dim& jg) {
      first_line_ = Dim(plan_.lines) * jg;
      lines_here_ = even_ ? Dim(plan_.lines) : min(Dim(plan_.lines), all - first_line_);
      body();
    });
  }

  void group() {
    lines_.write(point_, first_line_, lines_here_, plan_.lines);
    const int64_t wide = plan_.tile.columns;
    const auto rows = [&](const Dim& tile, int64_t count) {
      row_tile_ = tile;
      rows_here_ = Dim(count);
      computed_ = (count + lanes_ - 1) / lanes_ * lanes_;
      tiles_of_rows();
    };
    if (plan_.spread == PixelsPlan::Spread::rows) {
      const Dim piece(plan_.rows_of_piece);
      const bool whole = row_tiles_ % plan_.rows_of_piece == 0;
      const Dim tiles = whole ? piece : min(piece, Dim(row_tiles_) - first_row_tile_);
      return w_.loop(LoopKind::sequential, "it", tiles, [&](const Dim& it) {
        row_tile_ = first_row_tile_ + it;
        rows_here_ = rows_ % wide == 0 ? Dim(wide) : min(Dim(wide), Dim(rows_) - Dim(wide) * row_tile_);
        computed_ = wide;
        tiles_of_rows();
      });
    }
    // The last tile is as narrow as what is left.
    w_.loop(LoopKind::sequential, "it", Dim(rows_ / wide), [&](const Dim& it) { rows(it, wide); });
    if (rows_ % wide != 0) rows(Dim(rows_ / wide), rows_ % wide);
  }

  /// All tiles of the group for a tile of rows.
  void tiles_of_rows() {
    const Dim& all = sum_.reduce_axes[0].extent;
    if (plan_.panel_block == 0) {
      return for_tiles([&] {
        accumulate(Dim(0), all);
        if (!plan_.copied) return finish(tile_, {});
        const int copy =
            w_.allocate("copy_" + sum_.name, ElementType::f32, {Dim(height()), Dim(computed_)}, Level::cache);
        for_tile([&](const Dim& row, const Dim& j1) {
          w_.store({copy, {row, j1}}, Combine::assign, w_.load({tile_, {row, j1}}));
        });
        finish(copy, {});
      });
    }
    const Dim block(plan_.panel_block);
    const int waiting =
        w_.allocate("waiting_" + sum_.name, ElementType::f32,
                    {Dim((plan_.lines + plan_.tile_lines - 1) / plan_.tile_lines * tiles_of_line_),
                     Dim(plan_.tile.rows), Dim(computed_)},
                    Level::cache);
    const auto waits = [&](const Dim& row, const Dim& j1) { return Access{waiting, {number_, row, j1}}; };
    for_tiles([&] {
      for_tile([&](const Dim& row, const Dim& j1) { w_.store(waits(row, j1), Combine::assign, w_.real(0)); });
    });
    w_.loop(LoopKind::sequential, "kb", ceil_div(all, block), [&](const Dim& kb) {
      const Dim first = block * kb;
      const Dim steps = floor_mod(all, block) == Dim(0) ? block : min(block, all - first);
      for_tiles([&] {
        accumulate(first, steps);
        for_tile([&](const Dim& row, const Dim& j1) {
          w_.store(waits(row, j1), Combine::add, w_.load({tile_, {row, j1}}));
        });
      });
    });
    for_tiles([&] { finish(waiting, {number_}); });
  }

  /// Tiles of the group's places: several lines, or parts of a line, the last of which has fewer places.
  void for_tiles(const Body& body) {
    const auto line = [&](const Dim& first, const Dim& number, int64_t lines) {
      line_ = first;
      const auto tile = [&](const Dim& jt, int64_t places) {
        first_place_ = Dim(places_) * jt;
        tile_lines_here_ = lines;
        places_here_ = places;
        number_ = Dim(tiles_of_line_) * number + jt;
        body();
      };
      w_.loop(LoopKind::sequential, "jt", Dim(width_ / places_), [&](const Dim& jt) { tile(jt, places_); });
      if (width_ % places_ != 0) tile(Dim(width_ / places_), width_ % places_);
    };
    const int64_t lines = plan_.tile_lines;
    if (lines == 1)
      return w_.loop(LoopKind::sequential, "l1", lines_here_, [&](const Dim& l1) { line(l1, l1, 1); });
    const int64_t whole = plan_.lines / lines, rest = plan_.lines % lines;
    w_.loop(LoopKind::sequential, "l1", Dim(whole), [&](const Dim& l1) { line(Dim(lines) * l1, l1, lines); });
    if (rest != 0) line(Dim(whole * lines), Dim(whole), rest);
  }

  // --- one tile ---

  int64_t height() const { return tile_lines_here_ * places_here_; }

  /// body(line of the tile, place of the line, row of the tile, lane).
  void for_tile(
      const std::function<void(const Dim& i0, const Dim& i1, const Dim& row, const Dim& j1)>& body) {
    w_.loop(LoopKind::unrolled, "i0", Dim(tile_lines_here_), [&](const Dim& i0) {
      w_.loop(LoopKind::unrolled, "i1", Dim(places_here_), [&](const Dim& i1) {
        w_.loop(LoopKind::vector, "j1", Dim(computed_),
                [&](const Dim& j1) { body(i0, i1, Dim(places_here_) * i0 + i1, j1); });
      });
    });
  }
  void for_tile(const std::function<void(const Dim& row, const Dim& j1)>& body) {
    for_tile([&](const Dim&, const Dim&, const Dim& row, const Dim& j1) { body(row, j1); });
  }

  void accumulate(const Dim& first, const Dim& steps) {
    tile_ =
        w_.allocate("tile_" + sum_.name, ElementType::f32, {Dim(height()), Dim(computed_)}, Level::registers);
    for_tile([&](const Dim& row, const Dim& j1) {
      w_.store({tile_, {row, j1}}, Combine::assign, w_.real(0));
    });
    term_loops(w_, sum_, point_, plan_.unrolling, first, steps, [&] {
      for_tile([&](const Dim& i0, const Dim& i1, const Dim& row, const Dim& j1) {
        coordinate(form_.sum.place) = first_place_ + i1;
        const int place = lines_.value(point_, first_line_, line_ + i0);
        w_.store({tile_, {row, j1}}, Combine::add,
                 w_.mul(place, w_.load(constants_.at(point_, row_tile_, j1))));
      });
    });
  }

  /// Stores the sums of a tile, which `buffer` holds at {before..., place, row}.
  void finish(int buffer, const Dims& before) {
    const Dim first_row = Dim(plan_.tile.columns) * row_tile_;
    const Dim result = Dim(width_) * (first_line_ + line_) + first_place_;
    const auto at = [&](const Dim& place, const Dim& row) {
      Access element{buffer, before};
      element.indices.push_back(place);
      element.indices.push_back(row);
      return element;
    };
    if (form_.rows_last) {
      const LoopKind places = buffer == tile_ ? LoopKind::unrolled : LoopKind::sequential;
      return w_.loop(places, "i1", Dim(height()), [&](const Dim& place) {
        w_.loop(LoopKind::vector, "j1", rows_here_, [&](const Dim& row) {
          coordinate(form_.sum.row) = first_row + row;
          finished_.store(point_, at(place, row), result + place);
        });
      });
    }
    const Dim side(lanes_);
    w_.loop(LoopKind::sequential, "jb", ceil_div(rows_here_, side), [&](const Dim& jb) {
      const Dim first = side * jb;
      const bool whole = floor_mod(rows_here_, side) == Dim(0);
      const Dim rows = whole ? side : min(side, rows_here_ - first);
      write_transposed(
          w_, {height(), lanes_, Dim(height()), rows}, "turned_" + sum_.name, {ElementType::f32},
          [&](size_t, const Dim& place, const Dim& row) { return w_.load(at(place, first + row)); },
          [&](const Dim& place, const Dim& row, const std::vector<Access>& values) {
            coordinate(form_.sum.row) = first_row + first + row;
            finished_.store(point_, values[0], result + place);
          });
    });
  }

  const PixelsForm& form_;
  const ir::Stage& sum_;
  const PixelsPlan& plan_;
  LoopWriter& w_;
  StageValues& values_;
  PackedRows constants_;
  PaddedLines lines_;
  GatheredResult finished_;
  const int64_t lanes_, width_, rows_, places_, tiles_of_line_, row_tiles_;
  const bool even_;  ///< all groups have as many lines
  Dims point_;       ///< of the sum: axes, then reduce axes
  /// Of the piece, the group, and the tile at hand.
  Dim first_row_tile_, first_line_, lines_here_, row_tile_, rows_here_, line_, first_place_, number_;
  int64_t tile_lines_here_ = 1, places_here_ = 0, computed_ = 0;
  int tile_ = ir::none;
};

}  // namespace

void write_pixels(PieceContext& context, const PixelsForm& form, const PixelsPlan& plan) {
  PixelsWriter(context, form, plan).run();
}

}  // namespace axrun::search
