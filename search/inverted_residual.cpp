#include "search/inverted_residual.h"

#include <algorithm>
#include <utility>

#include "ir/error.h"
#include "search/packed_rows.h"
#include "search/panel_product.h"
#include "search/prepared_parts.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

class InvertedResidualWriter {
 public:
  InvertedResidualWriter(PieceContext& context, const InvertedResidualForm& form,
                         const InvertedResidualPlan& plan)
      : context_(context),
        form_(form),
        plan_(plan),
        sum_(*form.product.sum),
        w_(context.writer),
        values_(context.program, context.writer),
        inner_{context.program, context.facts, context.target, context.constant,
               context.writer,  values_,       context.buffers},
        left_(inner_, sum_, form.product.left, form.product.outer, form.product.row, plan.tile.rows),
        point_(sum_.axes.size() + sum_.reduce_axes.size(), Dim(0)),
        channels_(sum_.axes[static_cast<size_t>(form.channel.product)].extent) {
    for (const auto& [tensor, buffer] : context.buffers) values_.read_buffer(tensor, buffer);
  }

  void run() {
    if (form_.product.epilogue != nullptr)
      prepare_parts(inner_, *form_.product.epilogue, [this]() -> const Dims& { return map_point_; });
    if (form_.product.left_constant) {
      w_.at_beginning([&] { left_.write(); });
    } else {
      left_.write();
    }
    write_chained_windows(
        context_, form_.windows, plan_.windows,
        [this](PieceContext& windows, const Dim& first, int64_t lines, const std::function<void()>& write) {
          group(windows, first, lines, write);
        });
  }

 private:
  /// Lines that exist of those that windows of the group read.
  struct Lines {
    Dim first;
    int64_t count;
  };
  Lines lines_of(const Dim& first, int64_t count) const {
    const Dim low = form_.first_line(first);
    const int64_t all = form_.lines(count);
    if (!low.is_constant()) return {low, all};
    const int64_t exist = form_.move.extent;
    const int64_t begin = std::clamp<int64_t>(low.value(), 0, exist - 1);
    return {Dim(begin), std::clamp<int64_t>(low.value() + all, begin + 1, exist) - begin};
  }

  void group(PieceContext& windows, const Dim& first, int64_t count, const std::function<void()>& write) {
    const Lines lines = lines_of(first, count);
    for (const InvertedResidualForm::Shared& shared : form_.batch) {
      const AxisPart part = part_of(windows, *form_.windows.windows.reduction, shared.windows);
      point_[static_cast<size_t>(shared.product)] = part.first;
    }
    const std::pair channel{form_.windows.windows.reduction, form_.channel.windows};
    const Dim size(plan_.block);
    w_.loop(LoopKind::sequential, "cb", ceil_div(channels_, size), [&](const Dim& cb) {
      const AxisPart part = {size * cb, channels_ - size * cb, plan_.block, cb, channels_};
      const int buffer = some_channels(part, lines);
      windows.parts[channel] = part;
      windows.buffers[form_.between] = buffer;
      windows.values.read_buffer(form_.between, buffer);
      write();
    });
    windows.parts.erase(channel);
    windows.buffers.erase(form_.between);
  }

  /// What the product gives of a block of channels at some lines, [channels, places of all lines], as what
  /// lies between.
  int some_channels(const AxisPart& part, const Lines& lines) {
    const ir::TensorDecl& tensor = context_.program.tensors[static_cast<size_t>(form_.between)];
    const int64_t columns = lines.count * form_.width;
    const Dims dims = {Dim(plan_.block), Dim(columns)};
    const int buffer = w_.allocate("some_" + tensor.name, tensor.type, dims, Level::cache);
    // One line after another: places go on.
    point_[static_cast<size_t>(form_.line)] = lines.first;
    write_panel_product(inner_,
                        {.sum = sum_,
                         .left = left_,
                         .row = form_.product.row,
                         .tile = plan_.tile,
                         .unroll = plan_.unroll,
                         .copied = plan_.copied,
                         .rows = part,
                         .columns = columns,
                         .right = [&](const Dims& point, const Dim& column) { return right(point, column); },
                         .store =
                             [&](const Dims& point, const Access& element, const Dim& column) {
                               const Dim channel = point[static_cast<size_t>(form_.product.row)] - part.first;
                               finish(point, element, {buffer, {channel, column}});
                             }},
                        point_);
    ir::loop::Buffer as;
    as.name = tensor.name;
    as.type = tensor.type;
    as.dims = tensor.dims;
    return w_.view(
        std::move(as), [this, buffer, first = lines.first, channel = part.first](const Dims& indices) {
          const auto index = [&](int axis) {
            const auto at = std::find(form_.dimensions.begin(), form_.dimensions.end(), axis);
            return indices[static_cast<size_t>(at - form_.dimensions.begin())];
          };
          const Dim line = index(form_.line) - first;
          return Access{
              buffer,
              {index(form_.product.row) - channel, Dim(form_.width) * line + index(form_.product.column)}};
        });
  }

  int right(Dims point, const Dim& column) {
    point[static_cast<size_t>(form_.product.column)] = column;
    return values_.value(form_.product.right[0], point);
  }

  void finish(const Dims& point, const Access& element, const Access& target) {
    if (form_.product.epilogue == nullptr) return w_.store(target, Combine::assign, w_.load(element));
    const ir::Stage& map = *form_.product.epilogue;
    map_point_.clear();
    for (const int axis : form_.product.epilogue_axes)
      map_point_.push_back(axis == -1 ? Dim(0) : point[static_cast<size_t>(axis)]);
    values_.read_at(sum_.results[0], [element](const Dims&) { return element; });
    w_.store(target, Combine::assign, values_.value(map.body[0], map_point_));
  }

  PieceContext& context_;
  const InvertedResidualForm& form_;
  const InvertedResidualPlan& plan_;
  const ir::Stage& sum_;
  LoopWriter& w_;
  StageValues values_;  ///< of the product
  PieceContext inner_;  ///< of the product
  PackedRows left_;
  Dims point_;  ///< of the product: axes, then reduce axes
  const Dim channels_;
  Dims map_point_;  ///< of its epilogue, where it is computed
};

}  // namespace

void write_inverted_residual(PieceContext& context, const InvertedResidualForm& form,
                             const InvertedResidualPlan& plan) {
  InvertedResidualWriter(context, form, plan).run();
}

}  // namespace axrun::search
