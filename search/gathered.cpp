#include "search/gathered.h"

#include <algorithm>
#include <functional>

#include "search/gathered_across.h"
#include "search/gathered_matrix.h"
#include "search/gathered_result.h"
#include "search/packed_rows.h"
#include "search/term_loops.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;
using Layout = GatheredPlan::Layout;

namespace {

using ValuesAt = std::function<void(const Access& sum, const Access& part)>;

class GatheredWriter {
 public:
  GatheredWriter(PieceContext& context, const GatheredForm& form, const GatheredPlan& plan)
      : context_(context),
        program_(context.program),
        form_(form),
        sum_(*form.sum),
        plan_(plan),
        w_(context.writer),
        values_(context.values),
        left_(context, sum_, form.left, form.outer, form.row, plan.tile.rows),
        lanes_(context.target.lanes(4)),
        finished_(context, form),
        width_(extent(form.place).value()),
        row_count_(extent(form.row)),
        row_tiles_(ceil_div(row_count_, Dim(plan.tile.rows))),
        row_tail_(!context.facts.is_multiple(row_count_, plan.tile.rows)),
        even_(context.facts.is_multiple(extent(form.line), plan.lines)),
        point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)),
        matrix_(context, form, plan, even_),
        pitch_(matrix_.pitch()) {}

  void run() {
    finished_.prepare();
    write();
    values_.clear_values();
  }

 private:
  using Body = std::function<void()>;
  using ForTile = std::function<void(int64_t vectors)>;

  void write() {
    if (form_.left_constant) {
      w_.at_beginning([&] { left_.write(); });
    } else {
      left_.write();
    }
    if (plan_.spread == GatheredPlan::Spread::groups)
      return groups(true, [&] { outer(0, false, [&] { group(); }); });
    outer(0, plan_.spread == GatheredPlan::Spread::outer, [&] { groups(false, [&] { group(); }); });
  }

  const Dim& extent(int axis) const { return sum_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }

  Dim rows_of(const Dim& it) const {
    const Dim height(plan_.tile.rows);
    return row_tail_ ? min(height, row_count_ - height * it) : height;
  }

  // --- the loops over groups of lines ---

  void outer(size_t k, bool spread, const Body& body) {
    if (k == form_.outer.size()) return body();
    w_.loop(spread ? LoopKind::parallel : LoopKind::sequential, "o" + std::to_string(k),
            extent(form_.outer[k]), [&](const Dim& o) {
              coordinate(form_.outer[k]) = o;
              outer(k + 1, false, body);
            });
  }

  void groups(bool spread, const Body& body) {
    w_.loop(spread ? LoopKind::parallel : LoopKind::sequential, "jg",
            ceil_div(extent(form_.line), Dim(plan_.lines)), [&](const Dim& jg) {
              first_line_ = Dim(plan_.lines) * jg;
              body();
            });
  }

  Dim lines_of_group() const {
    return even_ ? Dim(plan_.lines) : min(Dim(plan_.lines), extent(form_.line) - first_line_);
  }
  /// Columns of the group that exist, with what lies between lines.
  Dim columns() const { return Dim(pitch_) * (lines_of_group() - 1) + Dim(width_); }

  void group() {
    const Dim& all = sum_.reduce_axes[0].extent;
    const int64_t block = plan_.depth_block;
    matrix_.allocate();
    if (block != 0) return in_parts();
    matrix_.gather(point_, first_line_, first_, all);
    if (plan_.layout != Layout::joined) {
      return tiles([&](int64_t vectors) {
        accumulate(vectors, all);
        if (plan_.copied) return finish(as_elements(vectors), {}, LoopKind::sequential);
        finish(columns_here_ == Dim(1) ? as_elements(vectors) : tile_, {});
      });
    }
    for_row_tiles([&] {
      const int sums = w_.allocate("sums_" + sum_.name, ElementType::f32,
                                   {Dim(plan_.tile.rows), Dim(matrix_.columns_computed())}, Level::cache);
      across([&](int64_t vectors) {
        accumulate(vectors, all);
        for_tile(vectors, [&](const Dim& i1, const Dim& j1) {
          w_.store({sums, {i1, first_column_ + j1}}, Combine::assign, w_.load(in_tile(tile_, i1, j1)));
        });
      });
      finish_lines(sums, {});
    });
  }

  /// Each part of k adds to the sums of a whole group, which wait in the cache.
  void in_parts() {
    const Dim& all = sum_.reduce_axes[0].extent;
    const Dim block(plan_.depth_block);
    const int waiting =
        w_.allocate("waiting_" + sum_.name, ElementType::f32,
                    {row_tiles_, Dim(plan_.tile.rows), Dim(matrix_.columns_computed())}, Level::cache);
    const auto each = [&](int64_t vectors, const ValuesAt& body) {
      for_tile(vectors, [&](const Dim& i1, const Dim& j1) {
        body({waiting, {row_tile_, i1, column_in_group() + j1}}, in_tile(tile_, i1, j1));
      });
    };
    tiles([&](int64_t vectors) {
      each(vectors, [&](const Access& sum, const Access&) { w_.store(sum, Combine::assign, w_.real(0)); });
    });
    w_.loop(LoopKind::sequential, "kb", ceil_div(all, block), [&](const Dim& kb) {
      first_ = block * kb;
      const Dim steps = floor_mod(all, block) == Dim(0) ? block : min(block, all - first_);
      matrix_.gather(point_, first_line_, first_, steps);
      tiles([&](int64_t vectors) {
        accumulate(vectors, steps);
        each(vectors,
             [&](const Access& sum, const Access& part) { w_.store(sum, Combine::add, w_.load(part)); });
      });
    });
    if (plan_.layout == Layout::joined) return for_row_tiles([&] { finish_lines(waiting, {row_tile_}); });
    tiles([&](int64_t) { finish(waiting, {row_tile_}); });
  }

  // --- tiles ---

  void for_row_tiles(const Body& body) {
    w_.loop(LoopKind::sequential, "it", row_tiles_, [&](const Dim& it) {
      row_tile_ = it;
      body();
    });
  }

  /// body(vectors of a line of the tile at hand) for all tiles of a row of them. The last one is narrower
  /// where its width is literal.
  void across(const ForTile& body) {
    if (plan_.layout == Layout::lines) return across_lines(body);
    const Dim result = Dim(width_) * first_line_;
    if (even_) {
      whole_tiles(result, columns().value(), body);
      return last_tile(result, columns().value(), body);
    }
    // At least one: the emitter divides nothing that may be negative as far as it knows.
    const Dim wide(plan_.tile.columns);
    w_.loop(LoopKind::sequential, "jt", ceil_div(max(columns(), Dim(1)), wide), [&](const Dim& jt) {
      first_column_ = wide * jt;
      first_result_ = result + first_column_;
      columns_here_ = min(wide, columns() - first_column_);
      body(plan_.tile.columns / lanes_);
    });
  }

  /// Lines one by one, but the last tiles of a few of them together.
  void across_lines(const ForTile& body) {
    const auto from_line = [&](const Dim& line, const Dim& count, int64_t together) {
      w_.loop(LoopKind::sequential, "l1", count, [&](const Dim& l1) {
        line_ = line + l1;
        whole_tiles(result_of_line(), width_, body);
        if (together == 1) last_tile(result_of_line(), width_, body);
      });
      if (together == 1) return;
      line_ = line;
      lines_here_ = together;
      last_tile(result_of_line(), width_, body);
      lines_here_ = 1;
    };
    const int64_t together = even_ ? plan_.lines_of_last_tile : 1;
    if (together == 1) return from_line(Dim(0), lines_of_group(), 1);
    const int64_t times = plan_.lines / together, rest = plan_.lines % together;
    w_.loop(LoopKind::sequential, "l2", Dim(times),
            [&](const Dim& l2) { from_line(Dim(together) * l2, Dim(together), together); });
    if (rest != 0) from_line(Dim(together * times), Dim(rest), rest);
  }

  /// Tiles of so many columns, which are those of the result from one on.
  void whole_tiles(const Dim& result, int64_t count, const ForTile& body) {
    const int64_t tiles = count / plan_.tile.columns;
    if (tiles == 0) return;
    w_.loop(LoopKind::sequential, "jt", Dim(tiles),
            [&](const Dim& jt) { tile(result, jt, plan_.tile.columns, body); });
  }
  void last_tile(const Dim& result, int64_t count, const ForTile& body) {
    const int64_t rest = count % plan_.tile.columns;
    if (rest != 0) tile(result, Dim(count / plan_.tile.columns), rest, body);
  }
  void tile(const Dim& result, const Dim& jt, int64_t columns, const ForTile& body) {
    first_column_ = Dim(plan_.tile.columns) * jt;
    first_result_ = result + first_column_;
    columns_here_ = Dim(columns);
    body((columns + lanes_ - 1) / lanes_);
  }

  Dim result_of_line() const { return Dim(width_) * (first_line_ + line_); }
  Dim column_in_group() const { return Dim(pitch_) * (line_ + line_of_tile_) + first_column_; }

  void tiles(const ForTile& body) {
    for_row_tiles([&] { across(body); });
  }

  void for_tile(int64_t vectors, const std::function<void(const Dim& i1, const Dim& j1)>& body) {
    w_.loop(LoopKind::unrolled, "i1", Dim(plan_.tile.rows), [&](const Dim& i1) {
      for_lines([&] {
        w_.loop(LoopKind::vector, "j1", Dim(vectors * lanes_), [&](const Dim& j1) { body(i1, j1); });
      });
    });
  }

  void for_lines(const Body& body) {
    if (lines_here_ == 1) return body();
    w_.loop(LoopKind::unrolled, "lt", Dim(lines_here_), [&](const Dim& lt) {
      line_of_tile_ = lt;
      body();
    });
    line_of_tile_ = Dim(0);
  }

  /// A buffer for the tile at hand, and a place in it.
  int allocate_tile(const std::string& name, int64_t vectors, Level level) {
    Dims dims{Dim(plan_.tile.rows), Dim(vectors * lanes_)};
    if (lines_here_ != 1) dims.insert(dims.begin() + 1, Dim(lines_here_));
    return w_.allocate(name + sum_.name, ElementType::f32, dims, level);
  }
  Access in_tile(int buffer, const Dim& i1, const Dim& j1) const {
    if (lines_here_ == 1) return {buffer, {i1, j1}};
    return {buffer, {i1, line_of_tile_, j1}};
  }

  void accumulate(int64_t vectors, const Dim& steps) {
    tile_ = allocate_tile("tile_", vectors, Level::registers);
    for_tile(vectors, [&](const Dim& i1, const Dim& j1) {
      w_.store(in_tile(tile_, i1, j1), Combine::assign, w_.real(0));
    });
    term_loops(w_, sum_, point_, plan_.unrolling, first_, steps, [&] {
      for_tile(vectors, [&](const Dim& i1, const Dim& j1) {
        const int right = w_.load(matrix_.at(point_, first_, line_ + line_of_tile_, first_column_ + j1));
        const int left = w_.load(left_.at(point_, row_tile_, i1));
        w_.store(in_tile(tile_, i1, j1), Combine::add, w_.mul(left, right));
      });
    });
  }

  /// The tile in memory: a single column is no vector, and lanes in registers are not elements.
  int as_elements(int64_t vectors) {
    const int elements = allocate_tile("elements_", vectors, Level::cache);
    for_tile(vectors, [&](const Dim& i1, const Dim& j1) {
      w_.store(in_tile(elements, i1, j1), Combine::assign, w_.load(in_tile(tile_, i1, j1)));
    });
    return elements;
  }

  /// Stores the sums of a tile, which are in `buffer`: a tile's, or (where `before` says which rows) a
  /// group's.
  void finish(int buffer, const Dims& before, LoopKind rows = LoopKind::unrolled) {
    w_.loop(rows, "i1", rows_of(row_tile_), [&](const Dim& i1) {
      for_lines([&] {
        w_.loop(LoopKind::vector, "j1", columns_here_, [&](const Dim& j1) {
          Access element = in_tile(buffer, i1, j1);
          if (!before.empty()) {
            element.indices = before;
            element.indices.insert(element.indices.end(), {i1, column_in_group() + j1});
          }
          coordinate(form_.row) = Dim(plan_.tile.rows) * row_tile_ + i1;
          finished_.store(point_, element, first_result_ + Dim(width_) * line_of_tile_ + j1);
        });
      });
    });
  }

  /// The same for a row of tiles, line by line, where others lie between them.
  void finish_lines(int buffer, const Dims& before) {
    w_.loop(LoopKind::sequential, "l1", lines_of_group(), [&](const Dim& l1) {
      w_.loop(LoopKind::unrolled, "i1", rows_of(row_tile_), [&](const Dim& i1) {
        w_.loop(LoopKind::vector, "j1", Dim(width_), [&](const Dim& j1) {
          Access element{buffer, before};
          element.indices.push_back(i1);
          element.indices.push_back(Dim(pitch_) * l1 + j1);
          coordinate(form_.row) = Dim(plan_.tile.rows) * row_tile_ + i1;
          finished_.store(point_, element, Dim(width_) * (first_line_ + l1) + j1);
        });
      });
    });
  }

  PieceContext& context_;
  const ir::Program& program_;
  const GatheredForm& form_;
  const ir::Stage& sum_;
  const GatheredPlan& plan_;
  LoopWriter& w_;
  StageValues& values_;
  PackedRows left_;
  const int64_t lanes_;
  GatheredResult finished_;
  const int64_t width_;
  const Dim row_count_, row_tiles_;
  const bool row_tail_;
  const bool even_;  ///< all groups have as many lines
  Dims point_;       ///< of the sum: axes, then reduce axes
  GatheredMatrix matrix_;
  const int64_t pitch_;  ///< columns from one line to the next
  int tile_ = ir::none;
  Dim first_line_, first_, row_tile_;
  /// Of the tile at hand: where it begins in the matrix, and among the columns of the result.
  Dim line_, first_column_, first_result_, columns_here_;
  int64_t lines_here_ = 1;  ///< of the tile at hand
  Dim line_of_tile_;        ///< among them
};

}  // namespace

void write_gathered(PieceContext& context, const GatheredForm& form, const GatheredPlan& plan) {
  if (plan.across) return write_gathered_across(context, form, plan);
  GatheredWriter(context, form, plan).run();
}

}  // namespace axrun::search
