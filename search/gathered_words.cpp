#include "search/gathered_words.h"

#include <algorithm>
#include <functional>

#include "search/decided_parts.h"
#include "search/epilogue.h"
#include "search/gathered_result.h"
#include "search/integer_neighbours.h"
#include "search/integer_product.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::ExprId;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

/// Taps along the last axis of the sum that are written one by one, so that they need no masks inside.
constexpr int64_t most_word_taps = 8;

class GatheredWordsWriter {
 public:
  GatheredWordsWriter(PieceContext& context, const GatheredForm& form)
      : neighbours_(
            neighbours_of(context, form.left[0], form.right[0], form.sum->reduce_axes[0].extent.value())),
        together_(neighbours_.count),
        context_(context),
        form_(form),
        sum_(*form.sum),
        w_(context.writer),
        values_(context.values),
        lanes_(context.target.lanes(4)),
        finished_(context, form),
        pitch_(extent(form.place).value()),
        rows_(extent(form.row)),
        point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)) {
    for (const ir::Axis& axis : sum_.reduce_axes) depth_ *= axis.extent.value();
    for (const int axis : form.outer) {
      if (axes_of(context.program, form.left[0]).count(axis) != 0) left_outer_.push_back(axis);
    }
    double flops = 2.0 * static_cast<double>(depth_);
    for (const ir::Axis& axis : sum_.axes) flops *= static_cast<double>(context.facts.typical(axis.extent));
    spread_ = is_worth_spreading(flops / 2, context.target);
    constexpr double good = 0.8;
    by_groups_ = spread_ && (form.outer.empty() || balance_of_axis(context.facts, extent(form.outer[0]), 1,
                                                                   context.target.cores) < good);
    choose_lines();
    choose_tile();
    copied_ = form.epilogue != nullptr && is_long(context.program, *form.epilogue);
  }

  void run() {
    finished_.prepare();
    w_.at_beginning([&] { pack_left(0); });
    if (by_groups_) {
      groups(true, [&] { outer(0, false, [&] { group(); }); });
    } else {
      outer(0, spread_, [&] { groups(false, [&] { group(); }); });
    }
    values_.clear_values();
  }

 private:
  using Body = std::function<void()>;

  const Dim& extent(int axis) const { return sum_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  Dim& reduce_coordinate(size_t k) { return point_[sum_.axes.size() + k]; }
  const Dim& reduce_extent(size_t k) const { return sum_.reduce_axes[k].extent; }
  size_t reduce_count() const { return sum_.reduce_axes.size(); }

  // --- decisions ---

  /// As many lines as leave their pairs in half of the second cache, and are wide enough for tiles; as many
  /// groups for every core, where they are spread.
  void choose_lines() {
    const int64_t second = second_cache(context_.target);
    const int64_t line_bytes = depth_ * pitch_ * static_cast<int64_t>(ir::size_of(neighbours_.right)),
                  all = context_.facts.typical(extent(form_.line));
    const int64_t most = std::max<int64_t>(1, second / 2 / line_bytes);
    int64_t groups = ceil_of(all, std::min(all, most));
    const int64_t cores = std::max(1, context_.target.cores);
    if (by_groups_) groups = std::min(all, ceil_of(groups, cores) * cores);
    lines_ = ceil_of(all, groups);
    even_ = context_.facts.is_multiple(extent(form_.line), lines_);
  }

  void choose_tile() {
    const bool many = context_.target.vector_registers > 16;
    const int64_t vectors = std::clamp<int64_t>(ceil_of(lines_ * pitch_, lanes_), 1, many ? 4 : 2);
    height_ = tile_rows(context_.target, vectors, context_.facts.typical(rows_));
    width_ = vectors * lanes_;
    row_tail_ = !context_.facts.is_multiple(rows_, height_);
    const int64_t step = even_ ? lanes_ : width_;
    matrix_columns_ = ceil_of(lines_ * pitch_, step) * step;
  }

  // --- the left side: [outer..., tiles of rows, pairs of k0, k1..., row, neighbour] ---

  Access left(const Dim& tile, const Dim& p, const Dim& row, const Dim& q) {
    Access access{left_, {}};
    for (const int axis : left_outer_) access.indices.push_back(coordinate(axis));
    access.indices.insert(access.indices.end(), {tile, p});
    for (size_t k = 1; k < reduce_count(); ++k) access.indices.push_back(reduce_coordinate(k));
    access.indices.insert(access.indices.end(), {row, q});
    return access;
  }

  /// Rows of the last tile that do not exist are the last one again.
  void pack_left(size_t k) {
    if (k == 0) {
      Dims dims;
      for (const int axis : left_outer_) dims.push_back(extent(axis));
      dims.insert(dims.end(), {ceil_div(rows_, Dim(height_)), Dim(reduce_extent(0).value() / together_)});
      for (size_t r = 1; r < reduce_count(); ++r) dims.push_back(reduce_extent(r));
      dims.insert(dims.end(), {Dim(height_), Dim(together_)});
      left_ = w_.allocate("left_" + sum_.name, neighbours_.left, dims, Level::memory);
    }
    if (k < left_outer_.size()) {
      return w_.loop(LoopKind::sequential, "o" + std::to_string(k), extent(left_outer_[k]),
                     [&](const Dim& o) {
                       coordinate(left_outer_[k]) = o;
                       pack_left(k + 1);
                     });
    }
    w_.loop(LoopKind::sequential, "it", ceil_div(rows_, Dim(height_)), [&](const Dim& it) {
      pairs_of_sum([&](const Dim& p) {
        w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
          w_.loop(LoopKind::unrolled, "q", Dim(together_), [&](const Dim& q) {
            const Dim row = height_ * it + i1;
            coordinate(form_.row) = row_tail_ ? min(row, rows_ - 1) : row;
            reduce_coordinate(0) = together_ * p + q;
            w_.store(left(it, p, i1, q), Combine::assign,
                     narrowed(context_, form_.left[0], neighbours_.left, point_));
          });
        });
      });
    });
  }

  /// Loops over the pairs along the first axis of the sum and over the other axes of it.
  void pairs_of_sum(const std::function<void(const Dim& p)>& body) {
    w_.loop(LoopKind::sequential, "p", Dim(reduce_extent(0).value() / together_),
            [&](const Dim& p) { other_axes(1, reduce_count(), [&] { body(p); }); });
  }
  /// The same where each is little work: a few at a time, which are not counted.
  void terms_of_tile(const std::function<void(const Dim& p)>& body) {
    const size_t last = reduce_count() - 1;
    const int64_t pairs = reduce_extent(0).value() / together_;
    if (last != 0) {
      const int64_t taps = reduce_extent(last).value();
      if (taps > most_word_taps) return pairs_of_sum(body);
      w_.loop(LoopKind::sequential, "p", Dim(pairs), [&](const Dim& p) {
        other_axes(1, last, [&] {
          w_.loop(LoopKind::unrolled, "k" + std::to_string(last), Dim(taps), [&](const Dim& tap) {
            reduce_coordinate(last) = tap;
            body(p);
          });
        });
      });
      return;
    }
    a_few_at_a_time(w_, pairs, body);
  }

  void other_axes(size_t k, size_t end, const Body& body) {
    if (k >= end) return body();
    w_.loop(LoopKind::sequential, "k" + std::to_string(k), reduce_extent(k), [&](const Dim& here) {
      reduce_coordinate(k) = here;
      other_axes(k + 1, end, body);
    });
  }

  // --- groups of lines ---

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
            ceil_div(extent(form_.line), Dim(lines_)), [&](const Dim& jg) {
              first_line_ = Dim(lines_) * jg;
              body();
            });
  }

  /// Columns of the group that exist.
  Dim columns() const {
    return Dim(pitch_) * (even_ ? Dim(lines_) : min(Dim(lines_), extent(form_.line) - first_line_));
  }

  void group() {
    gather();
    w_.loop(LoopKind::sequential, "it", ceil_div(rows_, Dim(height_)), [&](const Dim& it) {
      row_tile_ = it;
      across([&](int64_t vectors) { tile(vectors); });
    });
  }

  /// [pairs of k0, k1..., column, neighbour]
  Access gathered(const Dim& p, const Dim& column, const Dim& q) {
    Access access{matrix_, {p}};
    for (size_t k = 1; k < reduce_count(); ++k) access.indices.push_back(reduce_coordinate(k));
    access.indices.insert(access.indices.end(), {column, q});
    return access;
  }

  /// Columns beyond those of the group are 0; lines beyond the last one are that one again.
  void gather() {
    Dims dims = {Dim(reduce_extent(0).value() / together_)};
    for (size_t k = 1; k < reduce_count(); ++k) dims.push_back(reduce_extent(k));
    dims.insert(dims.end(), {Dim(matrix_columns_), Dim(together_)});
    matrix_ = w_.allocate("gathered_" + sum_.name, neighbours_.right, dims, Level::cache);
    const size_t count = reduce_count();
    const int64_t taps = count > 1 ? reduce_extent(count - 1).value() : 1;
    const bool apart = count > 1 && taps <= most_word_taps;
    const auto each_tap = [&](const Body& body) {
      if (!apart) return body();
      for (int64_t tap = 0; tap < taps; ++tap) {
        reduce_coordinate(count - 1) = Dim(tap);
        body();
      }
    };
    w_.loop(LoopKind::sequential, "p", dims[0], [&](const Dim& p) {
      other_axes(1, apart ? count - 1 : count, [&] {
        w_.loop(LoopKind::sequential, "l1", Dim(lines_), [&](const Dim& l1) {
          const Dim line = first_line_ + l1;
          coordinate(form_.line) = even_ ? line : min(line, extent(form_.line) - 1);
          each_tap([&] { gather_line(p, l1); });
        });
        each_tap([&] { clear_rest(p); });
      });
    });
  }

  void gather_line(const Dim& p, const Dim& l1) {
    constexpr size_t most_parts = 3;
    reduce_coordinate(0) = together_ * p;
    Dims place = point_;
    for (size_t axis = 0; axis < place.size(); ++axis) {
      if (!place[axis].is_constant()) place[axis] = Dim::symbol("a" + std::to_string(axis));
    }
    for (const DecidedPart& part :
         decided_parts(context_.program, form_.right, place, form_.place, pitch_, most_parts)) {
      values_.assume(part.known);
      w_.loop(LoopKind::unrolled, "q", Dim(together_), [&](const Dim& q) {
        reduce_coordinate(0) = together_ * p + q;
        w_.loop(LoopKind::vector, "j1", Dim(part.end - part.first), [&](const Dim& j1) {
          coordinate(form_.place) = Dim(part.first) + j1;
          w_.store(gathered(p, Dim(pitch_) * l1 + coordinate(form_.place), q), Combine::assign,
                   narrowed(context_, form_.right[0], neighbours_.right, point_));
        });
      });
    }
    values_.assume({});
  }

  void clear_rest(const Dim& p) {
    const int64_t filled = lines_ * pitch_;
    if (filled == matrix_columns_) return;
    w_.loop(LoopKind::unrolled, "q", Dim(together_), [&](const Dim& q) {
      w_.loop(LoopKind::vector, "z1", Dim(matrix_columns_ - filled), [&](const Dim& z1) {
        w_.store(gathered(p, Dim(filled) + z1, q), Combine::assign, w_.integer(0, neighbours_.right));
      });
    });
  }

  // --- tiles ---

  /// body(vectors of the tile at hand) for a row of tiles; the last one is narrower where its width is
  /// literal.
  void across(const std::function<void(int64_t vectors)>& body) {
    const auto loop = [&](const Dim& count) {
      w_.loop(LoopKind::sequential, "jt", count, [&](const Dim& jt) {
        first_column_ = Dim(width_) * jt;
        columns_here_ = even_ ? Dim(width_) : min(Dim(width_), columns() - first_column_);
        body(width_ / lanes_);
      });
    };
    // At least one: the emitter divides nothing that may be negative as far as it knows.
    if (!even_) return loop(ceil_div(max(columns(), Dim(1)), Dim(width_)));
    const int64_t all = columns().value(), count = all / width_, rest = all % width_;
    if (count != 0) loop(Dim(count));
    if (rest == 0) return;
    first_column_ = Dim(width_ * count);
    columns_here_ = Dim(rest);
    body(ceil_of(rest, lanes_));
  }

  void for_tile(int64_t vectors, const std::function<void(const Dim& i1, const Dim& j1)>& body) {
    w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", Dim(vectors * lanes_), [&](const Dim& j1) { body(i1, j1); });
    });
  }

  void tile(int64_t vectors) {
    const int sums = w_.allocate("tile_" + sum_.name, ElementType::i32, {Dim(height_), Dim(vectors * lanes_)},
                                 Level::registers);
    for_tile(vectors, [&](const Dim& i1, const Dim& j1) {
      w_.store({sums, {i1, j1}}, Combine::assign, w_.integer(0, ElementType::i32));
    });
    terms_of_tile([&](const Dim& p) {
      w_.loop(LoopKind::unrolled, "i1", Dim(height_), [&](const Dim& i1) {
        w_.loop(LoopKind::unrolled, "q", Dim(together_), [&](const Dim& q) {
          w_.loop(LoopKind::vector, "j1", Dim(vectors * lanes_), [&](const Dim& j1) {
            const int one = widened(w_, left(row_tile_, p, i1, q)),
                      each = widened(w_, gathered(p, first_column_ + j1, q));
            w_.store({sums, {i1, j1}}, Combine::add, w_.mul(one, each));
          });
        });
      });
    });
    if (!copied_ && columns_here_ != Dim(1)) return finish(sums, LoopKind::unrolled);
    // Lanes in registers are not elements; a single column is no vector.
    const int elements = w_.allocate("elements_" + sum_.name, ElementType::i32,
                                     {Dim(height_), Dim(vectors * lanes_)}, Level::cache);
    for_tile(vectors, [&](const Dim& i1, const Dim& j1) {
      w_.store({elements, {i1, j1}}, Combine::assign, w_.load({sums, {i1, j1}}));
    });
    finish(elements, copied_ ? LoopKind::sequential : LoopKind::unrolled);
  }

  void finish(int sums, LoopKind kind) {
    const Dim rows = row_tail_ ? min(Dim(height_), rows_ - Dim(height_) * row_tile_) : Dim(height_);
    w_.loop(kind, "i1", rows, [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", columns_here_, [&](const Dim& j1) {
        coordinate(form_.row) = Dim(height_) * row_tile_ + i1;
        finished_.store(point_, {sums, {i1, j1}}, Dim(pitch_) * first_line_ + first_column_ + j1);
      });
    });
  }

  const Neighbours neighbours_;
  const int64_t together_;  ///< of these, how many
  PieceContext& context_;
  const GatheredForm& form_;
  const ir::Stage& sum_;
  LoopWriter& w_;
  StageValues& values_;
  const int64_t lanes_;
  GatheredResult finished_;
  const int64_t pitch_;  ///< columns from one line to the next
  const Dim rows_;
  int64_t depth_ = 1;
  std::vector<int> left_outer_;  ///< of the outer axes, those on which the left side depends
  int64_t lines_ = 1;            ///< of a group
  int64_t height_ = 1, width_ = 1, matrix_columns_ = 1;
  bool spread_ = false;
  bool by_groups_ = false;  ///< groups are spread, not the outermost axis
  bool even_ = false;       ///< all groups have as many lines
  bool row_tail_ = false;
  bool copied_ = false;  ///< tiles are, to the cache, before a long epilogue reads them
  Dims point_;           ///< of the sum: axes, then reduce axes
  int left_ = ir::none, matrix_ = ir::none;
  Dim first_line_, row_tile_, first_column_, columns_here_;
};

}  // namespace

FoundGathered find_gathered_words(const ir::Program& program, const ir::Stage& sum, const ir::Stage* epilogue,
                                  const std::vector<bool>& constant) {
  FoundGathered found = find_gathered(program, sum, epilogue, constant, ElementType::i32);
  if (!found.found) return found;
  const GatheredForm& form = found.form;
  const auto no = [&](const std::string& reason) {
    found.found = false;
    found.reason = reason;
    return found;
  };
  constexpr int64_t pair = 2;
  if (sum.reduce_axes[0].extent.value() % pair != 0) return no("a sum over what are no pairs");
  if (!form.left_constant) return no("a product of two that vary");
  if (form.left.size() != 1 || form.right.size() != 1) return no("a product of more than two");
  if (!is_word(program, form.left[0]) || !is_word(program, form.right[0]))
    return no("factors of more than 16 bits");
  return found;
}

void write_gathered_words(PieceContext& context, const GatheredForm& form) {
  GatheredWordsWriter(context, form).run();
}

}  // namespace axrun::search
