#include "search/chained_windows.h"

#include <algorithm>
#include <string>

#include "search/gathered_result.h"
#include "search/packed_rows.h"
#include "search/panel_product.h"
#include "search/windows.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class ChainedWindowsWriter {
 public:
  ChainedWindowsWriter(PieceContext& context, const ChainedWindowsForm& form, const ChainedWindowsPlan& plan,
                       const OperandOfWindows& operand)
      : context_(context),
        form_(form),
        sum_(*form.sum.sum),
        plan_(plan),
        operand_(operand),
        w_(context.writer),
        left_(context, sum_, form.sum.left, form.sum.outer, form.sum.row, plan.tile.rows),
        finished_(context, form.sum),
        lanes_(context.target.lanes(4)),
        width_(extent(form.sum.place).value()),
        values_(context.program, context.writer),
        inner_{context.program, context.facts, context.target, context.constant,
               context.writer,  values_,       context.buffers},
        point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)),
        sums_{
            .sum = sum_,
            .left = left_,
            .row = form.sum.row,
            .tile = plan.tile,
            .unroll = plan.unroll,
            .copied = plan.copied,
            .rows = {Dim(0), extent(form.sum.row)},
            .padded = true,
            .right = [this](const Dims& point, const Dim& column) { return w_.load(element(point, column)); },
            .store =
                [this](const Dims& point, const Access& element, const Dim& column) {
                  finished_.store(point, element, Dim(width_) * first_line_ + column);
                }} {
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
  const Dim& extent(int axis) const { return sum_.axes[static_cast<size_t>(axis)].extent; }
  Dim& coordinate(int axis) { return point_[static_cast<size_t>(axis)]; }
  Dim& reduce_coordinate(size_t k) { return point_[sum_.axes.size() + k]; }

  // --- the loops over groups of lines ---

  void outer(size_t k) {
    if (k == form_.sum.outer.size()) return groups();
    const LoopKind kind = k == 0 && plan_.spread == ChainedWindowsPlan::Spread::outer ? LoopKind::parallel
                                                                                      : LoopKind::sequential;
    w_.loop(kind, "n" + std::to_string(k), extent(form_.sum.outer[k]), [&](const Dim& o) {
      coordinate(form_.sum.outer[k]) = o;
      outer(k + 1);
    });
  }

  void groups() {
    for (size_t number = 0; number < plan_.groups.size(); ++number) {
      const Tiles& group = plan_.groups[number];
      const bool spread = plan_.spread == ChainedWindowsPlan::Spread::groups && !group.apart;
      w_.loop(spread ? LoopKind::parallel : LoopKind::sequential, "jg", group.count, [&](const Dim& jg) {
        first_line_ = group.start + Dim(group.size) * jg;
        make_matrix(plan_.row_tiles[number], group.size);
        write_panel_product(context_, sums_, point_);
      });
    }
  }

  // --- the windows of the group, [k..., columns], line after line ---

  void make_matrix(const std::vector<Tiles>& row_tiles, int64_t lines) {
    const int64_t columns = lines * width_, computed = (columns + lanes_ - 1) / lanes_ * lanes_;
    sums_.columns = columns;
    Dims dims;
    for (const ir::Axis& axis : sum_.reduce_axes) dims.push_back(axis.extent);
    dims.emplace_back(computed);
    matrix_ = w_.allocate("lines_" + sum_.name, ElementType::f32, dims, Level::cache);
    if (computed != columns) clear(0, columns, computed);
    for (size_t d = 0; d < form_.sum_axes.size(); ++d) {
      const int axis = form_.sum_axes[d];
      const bool outside = std::count(form_.sum.outer.begin(), form_.sum.outer.end(), axis) != 0;
      if (outside) inner_.parts[{form_.windows.reduction, form_.window_axes[d]}] = {coordinate(axis), Dim(1)};
    }
    keep();
    WindowsPlan plan = plan_.windows;
    plan.row_tiles = row_tiles;
    for (Tiles& tiles : plan.row_tiles) tiles.start = first_line_ + tiles.start;
    const auto write = [&] { write_windows(inner_, form_.windows, plan); };
    operand_ ? operand_(inner_, first_line_, lines, write) : write();
  }

  /// Columns beyond the last one are computed with: they are 0.
  void clear(size_t k, int64_t columns, int64_t computed) {
    if (k == sum_.reduce_axes.size()) {
      return w_.loop(LoopKind::vector, "z1", Dim(computed - columns), [&](const Dim& z1) {
        w_.store(element(point_, Dim(columns) + z1), Combine::assign, w_.real(0));
      });
    }
    w_.loop(LoopKind::sequential, "z" + std::to_string(k), sum_.reduce_axes[k].extent, [&](const Dim& here) {
      reduce_coordinate(k) = here;
      clear(k + 1, columns, computed);
    });
  }

  Access element(const Dims& point, const Dim& column) const {
    Access access{matrix_, {}};
    for (size_t k = 0; k < sum_.reduce_axes.size(); ++k)
      access.indices.push_back(point[sum_.axes.size() + k]);
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

  PieceContext& context_;
  const ChainedWindowsForm& form_;
  const ir::Stage& sum_;
  const ChainedWindowsPlan& plan_;
  const OperandOfWindows& operand_;
  LoopWriter& w_;
  PackedRows left_;
  GatheredResult finished_;
  const int64_t lanes_;
  const int64_t width_;  ///< of a line
  StageValues values_;   ///< of the windows: the sum prepares values of its own
  PieceContext inner_;   ///< of the windows
  Dims point_;           ///< of the sum: axes, then reduce axes
  PanelProduct sums_;    ///< of the group at hand
  Dim first_line_;
  int matrix_ = ir::none;
};

}  // namespace

void write_chained_windows(PieceContext& context, const ChainedWindowsForm& form,
                           const ChainedWindowsPlan& plan, const OperandOfWindows& operand) {
  ChainedWindowsWriter(context, form, plan, operand).run();
}

}  // namespace axrun::search
