#include "search/chained_windows.h"

#include <algorithm>
#include <functional>
#include <string>

#include "search/gathered_result.h"
#include "search/packed_rows.h"
#include "search/windows.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;
using Spread = ChainedWindowsPlan::Spread;

namespace {

class Writer {
 public:
  Writer(PieceContext& context, const ChainedWindowsForm& form, const ChainedWindowsPlan& plan)
      : context_(context),
        form_(form),
        sum_(*form.sum.sum),
        plan_(plan),
        w_(context.writer),
        left_(context, sum_, form.sum.left, form.sum.outer, form.sum.row, plan.tile.rows),
        finished_(context, form.sum),
        lanes_(context.target.lanes(4)),
        width_(extent(form.sum.place).value()),
        rows_(extent(form.sum.row)),
        values_(context.program, context.writer),
        inner_{context.program, context.facts, context.target, context.constant,
               context.writer,  values_,       context.buffers},
        point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)) {
    for (const auto& [tensor, buffer] : context.buffers) values_.read_buffer(tensor, buffer);
  }

  void run() {
    finished_.prepare();
    if (form_.sum.left_constant) {
      w_.at_beginning([&] { left_.write(); });
    } else {
      left_.write();
    }
    outer(0);
    context_.values.clear_values();
  }

 private:
  using Body = std::function<void()>;

  const Dim& extent(int axis) const { return sum_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  Dim& reduce_coordinate(size_t k) { return point_[sum_.axes.size() + k]; }

  // --- the loops over groups of lines ---

  void outer(size_t k) {
    if (k == form_.sum.outer.size()) return groups();
    const LoopKind kind = k == 0 && plan_.spread == Spread::outer ? LoopKind::parallel : LoopKind::sequential;
    w_.loop(kind, "n" + std::to_string(k), extent(form_.sum.outer[k]), [&](const Dim& o) {
      coordinate(form_.sum.outer[k]) = o;
      outer(k + 1);
    });
  }

  void groups() {
    for (size_t number = 0; number < plan_.groups.size(); ++number) {
      const Tiles& group = plan_.groups[number];
      const bool spread = plan_.spread == Spread::groups && !group.apart;
      w_.loop(spread ? LoopKind::parallel : LoopKind::sequential, "jg", group.count, [&](const Dim& jg) {
        first_line_ = group.start + Dim(group.size) * jg;
        columns_ = group.size * width_;
        make_matrix(plan_.row_tiles[number]);
        across([&] { for_row_tiles([&] { tile(); }); });
      });
    }
  }

  // --- the windows of the group, [k..., columns], line after line ---

  void make_matrix(const std::vector<Tiles>& row_tiles) {
    const int64_t computed = (columns_ + lanes_ - 1) / lanes_ * lanes_;
    Dims dims;
    for (const ir::Axis& axis : sum_.reduce_axes) dims.push_back(axis.extent);
    dims.emplace_back(computed);
    matrix_ = w_.allocate("lines_" + sum_.name, ElementType::f32, dims, Level::cache);
    if (computed != columns_) clear(0, computed);
    for (size_t d = 0; d < form_.sum_axes.size(); ++d) {
      const int axis = form_.sum_axes[d];
      const bool outside = std::count(form_.sum.outer.begin(), form_.sum.outer.end(), axis) != 0;
      if (outside) inner_.parts[{form_.windows.reduction, form_.window_axes[d]}] = {coordinate(axis), Dim(1)};
    }
    keep();
    WindowsPlan plan = plan_.windows;
    plan.row_tiles = row_tiles;
    for (Tiles& tiles : plan.row_tiles) tiles.start = first_line_ + tiles.start;
    write_windows(inner_, form_.windows, plan);
  }

  /// Columns beyond the last one are computed with: they are 0.
  void clear(size_t k, int64_t computed) {
    if (k == sum_.reduce_axes.size()) {
      return w_.loop(LoopKind::vector, "z1", Dim(computed - columns_), [&](const Dim& z1) {
        w_.store(element(Dim(columns_) + z1), Combine::assign, w_.real(0));
      });
    }
    w_.loop(LoopKind::sequential, "z" + std::to_string(k), sum_.reduce_axes[k].extent, [&](const Dim& here) {
      reduce_coordinate(k) = here;
      clear(k + 1, computed);
    });
  }

  Access element(const Dim& column) const {
    Access access{matrix_, {}};
    for (size_t k = 0; k < sum_.reduce_axes.size(); ++k)
      access.indices.push_back(point_[sum_.axes.size() + k]);
    access.indices.push_back(column);
    return access;
  }

  /// Elements of what lies between go to the matrix.
  void keep() {
    const ir::TensorDecl& tensor = context_.program.tensors[static_cast<size_t>(form_.between)];
    ir::loop::Buffer as;
    as.name = tensor.name;
    as.type = tensor.type;
    as.dims = tensor.dims;
    const auto place = [this, matrix = matrix_, first = first_line_](const Dims& indices) {
      const auto index = [&](size_t axis) {
        const auto at = std::find(form_.sum_axes.begin(), form_.sum_axes.end(), static_cast<int>(axis));
        return indices[static_cast<size_t>(at - form_.sum_axes.begin())];
      };
      Access access{matrix, {}};
      for (size_t k = 0; k < sum_.reduce_axes.size(); ++k)
        access.indices.push_back(index(sum_.axes.size() + k));
      const auto line = static_cast<size_t>(form_.sum.line), column = static_cast<size_t>(form_.sum.place);
      access.indices.push_back(Dim(width_) * (index(line) - first) + index(column));
      return access;
    };
    KeptPart kept;
    kept.buffer = w_.view(std::move(as), place);
    kept.dimensions.resize(tensor.dims.size());
    inner_.kept[form_.between] = std::move(kept);
  }

  // --- the sum ---

  /// For all tiles of columns of the group. What rows of tiles read of it stays in the nearest cache.
  void across(const Body& body) {
    const int64_t wide = plan_.tile.columns, whole = columns_ / wide, rest = columns_ % wide;
    const auto tiles = [&](const Dim& first, int64_t columns) {
      first_column_ = first;
      columns_here_ = columns;
      computed_ = (columns + lanes_ - 1) / lanes_ * lanes_;
      body();
    };
    if (whole != 0)
      w_.loop(LoopKind::sequential, "jt", Dim(whole), [&](const Dim& jt) { tiles(Dim(wide) * jt, wide); });
    if (rest != 0) tiles(Dim(wide * whole), rest);
  }

  void for_row_tiles(const Body& body) {
    w_.loop(LoopKind::sequential, "it", ceil_div(rows_, Dim(plan_.tile.rows)), [&](const Dim& it) {
      row_tile_ = it;
      body();
    });
  }

  void for_tile(const std::function<void(const Dim& i1, const Dim& j1)>& body) {
    w_.loop(LoopKind::unrolled, "i1", Dim(plan_.tile.rows), [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", Dim(computed_), [&](const Dim& j1) { body(i1, j1); });
    });
  }

  void tile() {
    const Dims dims = {Dim(plan_.tile.rows), Dim(computed_)};
    const int tile = w_.allocate("tile_" + sum_.name, ElementType::f32, dims, Level::registers);
    for_tile([&](const Dim& i1, const Dim& j1) { w_.store({tile, {i1, j1}}, Combine::assign, w_.real(0)); });
    terms(0, [&] {
      for_tile([&](const Dim& i1, const Dim& j1) {
        const int left = w_.load(left_.at(point_, row_tile_, i1));
        w_.store({tile, {i1, j1}}, Combine::add, w_.mul(left, w_.load(element(first_column_ + j1))));
      });
    });
    // A single column is no vector, and lanes in registers are not elements.
    if (!plan_.copied && columns_here_ != 1) return finish(tile, LoopKind::unrolled);
    const int copy = w_.allocate("copy_" + sum_.name, ElementType::f32, dims, Level::cache);
    for_tile([&](const Dim& i1, const Dim& j1) {
      w_.store({copy, {i1, j1}}, Combine::assign, w_.load({tile, {i1, j1}}));
    });
    finish(copy, plan_.copied ? LoopKind::sequential : LoopKind::unrolled);
  }

  /// The loops along the sum, the innermost one unrolled.
  void terms(size_t k, const Body& body) {
    const Dim all = sum_.reduce_axes[k].extent, by(plan_.unroll);
    const std::string name = "p" + std::to_string(k);
    if (k + 1 < sum_.reduce_axes.size()) {
      return w_.loop(LoopKind::sequential, name, all, [&](const Dim& p) {
        reduce_coordinate(k) = p;
        terms(k + 1, body);
      });
    }
    const bool whole = floor_mod(all, by) == Dim(0);
    w_.loop(LoopKind::sequential, name, ceil_div(all, by), [&](const Dim& p) {
      w_.loop(LoopKind::unrolled, "u", whole ? by : min(by, all - by * p), [&](const Dim& u) {
        reduce_coordinate(k) = by * p + u;
        body();
      });
    });
  }

  void finish(int buffer, LoopKind kind) {
    const Dim height(plan_.tile.rows);
    const bool whole = context_.facts.is_multiple(rows_, plan_.tile.rows);
    const Dim rows = whole ? height : min(height, rows_ - height * row_tile_);
    w_.loop(kind, "i1", rows, [&](const Dim& i1) {
      w_.loop(LoopKind::vector, "j1", Dim(columns_here_), [&](const Dim& j1) {
        coordinate(form_.sum.row) = height * row_tile_ + i1;
        finished_.store(point_, {buffer, {i1, j1}}, Dim(width_) * first_line_ + first_column_ + j1);
      });
    });
  }

  PieceContext& context_;
  const ChainedWindowsForm& form_;
  const ir::Stage& sum_;
  const ChainedWindowsPlan& plan_;
  LoopWriter& w_;
  PackedRows left_;
  GatheredResult finished_;
  const int64_t lanes_;
  const int64_t width_;  ///< of a line
  const Dim rows_;
  StageValues values_;  ///< of the windows: the sum prepares values of its own
  PieceContext inner_;  ///< of the windows
  Dims point_;          ///< of the sum: axes, then reduce axes
  // The group and the tile at hand.
  Dim first_line_, row_tile_, first_column_;
  int64_t columns_ = 1, columns_here_ = 1, computed_ = 1;
  int matrix_ = ir::none;
};

}  // namespace

void write_chained_windows(PieceContext& context, const ChainedWindowsForm& form,
                           const ChainedWindowsPlan& plan) {
  Writer(context, form, plan).run();
}

}  // namespace axrun::search
