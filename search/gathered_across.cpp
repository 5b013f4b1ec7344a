#include "search/gathered_across.h"

#include <functional>
#include <string>

#include "search/gathered_matrix.h"
#include "search/gathered_result.h"
#include "search/packed_rows.h"
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

class GatheredAcrossWriter {
 public:
  GatheredAcrossWriter(PieceContext& context, const GatheredForm& form, const GatheredPlan& plan)
      : form_(form),
        sum_(*form.sum),
        plan_(plan),
        w_(context.writer),
        values_(context.values),
        left_(context, sum_, form.left, form.outer, form.row, plan.tile.columns),
        lanes_(context.target.lanes(4)),
        finished_(context, form),
        width_(extent(form.place).value()),
        places_(plan.tile.rows / plan.tile_lines),
        tiles_of_line_((width_ + places_ - 1) / places_),
        row_count_(extent(form.row)),
        row_tiles_(ceil_div(row_count_, Dim(plan.tile.columns))),
        even_(context.facts.is_multiple(extent(form.line), plan.lines)),
        point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)),
        matrix_(context, form, plan, even_) {}

  void run() {
    finished_.prepare();
    w_.at_beginning([&] { left_.write(); });
    if (plan_.spread == GatheredPlan::Spread::groups) {
      pieces([&] { groups([&] { outer(0, [&] { group(); }); }); });
    } else {
      pieces([&] { outer(0, [&] { groups([&] { group(); }); }); });
    }
    values_.clear_values();
  }

 private:
  using Body = std::function<void()>;

  const Dim& extent(int axis) const { return sum_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  LoopKind kind(GatheredPlan::Spread spread) const {
    return plan_.spread == spread ? LoopKind::parallel : LoopKind::sequential;
  }

  // --- the loops around tiles ---

  /// Rows of the sum, where they are spread: every piece gathers for itself.
  void pieces(const Body& body) {
    first_row_tile_ = Dim(0);
    row_tiles_here_ = row_tiles_;
    if (plan_.spread != GatheredPlan::Spread::rows) return body();
    const Dim piece(plan_.rows_of_piece);
    w_.loop(LoopKind::parallel, "ib", ceil_div(row_tiles_, piece), [&](const Dim& ib) {
      first_row_tile_ = piece * ib;
      row_tiles_here_ =
          floor_mod(row_tiles_, piece) == Dim(0) ? piece : min(piece, row_tiles_ - first_row_tile_);
      body();
    });
  }

  void outer(size_t k, const Body& body) {
    if (k == form_.outer.size()) return body();
    w_.loop(k == 0 ? kind(GatheredPlan::Spread::outer) : LoopKind::sequential, "o" + std::to_string(k),
            extent(form_.outer[k]), [&](const Dim& o) {
              coordinate(form_.outer[k]) = o;
              outer(k + 1, body);
            });
  }

  void groups(const Body& body) {
    w_.loop(kind(GatheredPlan::Spread::groups), "jg", ceil_div(extent(form_.line), Dim(plan_.lines)),
            [&](const Dim& jg) {
              first_line_ = Dim(plan_.lines) * jg;
              body();
            });
  }

  Dim lines_of_group() const {
    return even_ ? Dim(plan_.lines) : min(Dim(plan_.lines), extent(form_.line) - first_line_);
  }

  void group() {
    matrix_.allocate();
    matrix_.gather(point_, first_line_, Dim(0), sum_.reduce_axes[0].extent);
    // The last tile of rows is narrower where its width is literal.
    const int64_t wide = plan_.tile.columns;
    const bool literal = row_count_.is_constant() && plan_.spread != GatheredPlan::Spread::rows;
    const int64_t rest = literal ? row_count_.value() % wide : 0;
    const Dim whole = literal ? Dim(row_count_.value() / wide) : row_tiles_here_;
    if (!(whole == Dim(0))) {
      const bool tail = !literal && !(floor_mod(row_count_, Dim(wide)) == Dim(0));
      w_.loop(LoopKind::sequential, "it", whole, [&](const Dim& it) {
        row_tile_ = first_row_tile_ + it;
        rows_here_ = tail ? min(Dim(wide), row_count_ - Dim(wide) * row_tile_) : Dim(wide);
        tiles_of_rows(wide);
      });
    }
    if (rest == 0) return;
    row_tile_ = whole;
    rows_here_ = Dim(rest);
    tiles_of_rows((rest + lanes_ - 1) / lanes_ * lanes_);
  }

  /// All tiles of a tile of rows, of which so many lanes are computed.
  void tiles_of_rows(int64_t computed) {
    computed_ = computed;
    const Dim& all = sum_.reduce_axes[0].extent;
    if (plan_.panel_block == 0) {
      return for_tiles([&] {
        accumulate(Dim(0), all);
        const int copy = w_.allocate("copy_" + sum_.name, ElementType::f32,
                                     {Dim(rows_of_tile()), Dim(computed_)}, Level::cache);
        for_tile([&](const Dim& i1, const Dim& j1) {
          w_.store({copy, {i1, j1}}, Combine::assign, w_.load({tile_, {i1, j1}}));
        });
        finish(copy, {});
      });
    }
    const Dim block(plan_.panel_block);
    const Dim tiles((plan_.lines + plan_.tile_lines - 1) / plan_.tile_lines * tiles_of_line_);
    const int waiting = w_.allocate("waiting_" + sum_.name, ElementType::f32,
                                    {tiles, Dim(plan_.tile.rows), Dim(computed_)}, Level::cache);
    for_tiles([&] {
      for_tile([&](const Dim& i1, const Dim& j1) {
        w_.store({waiting, {number_, i1, j1}}, Combine::assign, w_.real(0));
      });
    });
    w_.loop(LoopKind::sequential, "kb", ceil_div(all, block), [&](const Dim& kb) {
      const Dim first = block * kb;
      const Dim steps = floor_mod(all, block) == Dim(0) ? block : min(block, all - first);
      for_tiles([&] {
        accumulate(first, steps);
        for_tile([&](const Dim& i1, const Dim& j1) {
          w_.store({waiting, {number_, i1, j1}}, Combine::add, w_.load({tile_, {i1, j1}}));
        });
      });
    });
    for_tiles([&] { finish(waiting, {number_}); });
  }

  /// Tiles of the group's places: a few lines, or parts of a line, the last of which has fewer places.
  void for_tiles(const Body& body) {
    const Dim lines = ceil_div(lines_of_group(), Dim(plan_.tile_lines));
    const int64_t whole = width_ / places_, rest = width_ % places_;
    w_.loop(LoopKind::sequential, "l1", lines, [&](const Dim& l1) {
      line_ = Dim(plan_.tile_lines) * l1;
      const auto tile = [&](const Dim& jt, int64_t places) {
        first_place_ = Dim(places_) * jt;
        places_here_ = places;
        number_ = Dim(tiles_of_line_) * l1 + jt;
        body();
      };
      if (whole == 1) tile(Dim(0), places_);
      if (whole > 1)
        w_.loop(LoopKind::sequential, "jt", Dim(whole), [&](const Dim& jt) { tile(jt, places_); });
      if (rest != 0) tile(Dim(whole), rest);
    });
  }

  // --- one tile ---

  int64_t rows_of_tile() const { return plan_.tile_lines * places_here_; }

  /// body(line of the tile, place of the line, row of the tile, lane).
  void for_places(const std::function<void(const Dim& i0, const Dim& i1, const Dim& row)>& body) {
    const auto line = [&](const Dim& i0) {
      w_.loop(LoopKind::unrolled, "i1", Dim(places_here_),
              [&](const Dim& i1) { body(i0, i1, Dim(places_) * i0 + i1); });
    };
    if (plan_.tile_lines == 1) return line(Dim(0));
    w_.loop(LoopKind::unrolled, "i0", Dim(plan_.tile_lines), line);
  }
  void for_tile(const std::function<void(const Dim& row, const Dim& j1)>& body) {
    for_places([&](const Dim&, const Dim&, const Dim& row) {
      w_.loop(LoopKind::vector, "j1", Dim(computed_), [&](const Dim& j1) { body(row, j1); });
    });
  }

  void accumulate(const Dim& first, const Dim& steps) {
    tile_ = w_.allocate("tile_" + sum_.name, ElementType::f32, {Dim(rows_of_tile()), Dim(computed_)},
                        Level::registers);
    for_tile([&](const Dim& i1, const Dim& j1) { w_.store({tile_, {i1, j1}}, Combine::assign, w_.real(0)); });
    term_loops(w_, sum_, point_, plan_.unrolling, first, steps, [&] {
      for_places([&](const Dim& i0, const Dim& i1, const Dim& row) {
        w_.loop(LoopKind::vector, "j1", Dim(computed_), [&](const Dim& j1) {
          const int right = w_.load(matrix_.at(point_, Dim(0), line_ + i0, first_place_ + i1));
          const int left = w_.load(left_.at(point_, row_tile_, j1));
          w_.store({tile_, {row, j1}}, Combine::add, w_.mul(right, left));
        });
      });
    });
  }

  /// Stores the sums of a tile, which `buffer` holds at {before..., place, row of the sum}.
  void finish(int buffer, const Dims& before) {
    const int64_t whole_lines = plan_.tile_lines;
    const bool all = whole_lines == 1 || (even_ && plan_.lines % whole_lines == 0);
    const Dim here =
        all ? Dim(whole_lines * places_here_) : Dim(width_) * min(Dim(whole_lines), lines_of_group() - line_);
    const Dim result = Dim(width_) * (first_line_ + line_) + first_place_;
    const auto at = [&](const Dim& place, const Dim& row) {
      Access element{buffer, before};
      element.indices.push_back(place);
      element.indices.push_back(row);
      return element;
    };
    w_.loop(LoopKind::sequential, "jb", ceil_div(rows_here_, Dim(lanes_)), [&](const Dim& jb) {
      const Dim first = Dim(lanes_) * jb;
      const bool whole = floor_mod(rows_here_, Dim(lanes_)) == Dim(0);
      const Dim rows = whole ? Dim(lanes_) : min(Dim(lanes_), rows_here_ - first);
      write_transposed(
          w_, {rows_of_tile(), lanes_, here, rows}, "turned_" + sum_.name, {ElementType::f32},
          [&](size_t, const Dim& place, const Dim& row) { return w_.load(at(place, first + row)); },
          [&](const Dim& place, const Dim& row, const std::vector<Access>& values) {
            coordinate(form_.row) = Dim(plan_.tile.columns) * row_tile_ + first + row;
            finished_.store(point_, values[0], result + place);
          });
    });
  }

  const GatheredForm& form_;
  const ir::Stage& sum_;
  const GatheredPlan& plan_;
  LoopWriter& w_;
  StageValues& values_;
  PackedRows left_;
  const int64_t lanes_;
  GatheredResult finished_;
  const int64_t width_, places_, tiles_of_line_;
  const Dim row_count_, row_tiles_;
  const bool even_;  ///< all groups have as many lines
  Dims point_;       ///< of the sum: axes, then reduce axes
  GatheredMatrix matrix_;
  int tile_ = ir::none;
  /// Of the piece, the group, and the tile at hand.
  Dim first_row_tile_, row_tiles_here_, first_line_, row_tile_, rows_here_, line_, first_place_, number_;
  int64_t places_here_ = 0, computed_ = 0;
};

}  // namespace

void write_gathered_across(PieceContext& context, const GatheredForm& form, const GatheredPlan& plan) {
  GatheredAcrossWriter(context, form, plan).run();
}

}  // namespace axrun::search
