#include "search/chained_windows_form.h"

#include <algorithm>
#include <utility>

#include "ir/linear.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::Program;
using ir::ScalarOp;
using ir::Stage;

namespace {

/// What lies between must be more than the nearest caches keep in any case, and lines longer than those of
/// planes across which lanes run better (planes_form).
constexpr int64_t least_image_bytes = int64_t{64} << 10, least_width = 17;

class ChainedWindowsFormFinder {
 public:
  ChainedWindowsFormFinder(const Program& program, ChainedWindowsForm& form)
      : program_(program), form_(form) {}

  bool run(Range both) {
    const Stage& last = form_.windows.last();
    form_.between = last.results[0];
    const ir::TensorDecl& tensor = program_.tensors[static_cast<size_t>(form_.between)];
    if (tensor.type != ir::ElementType::f32 || is_read_outside(program_, form_.between, both)) return false;
    if (form_.windows.row == ir::none || form_.sum.right.size() != 1) return false;
    const Expr& read = program_.exprs[static_cast<size_t>(form_.sum.right[0])];
    if (read.op != ScalarOp::load || read.integer != form_.between || read.args[0] != ir::none) return false;
    if (!is_worth_it()) return false;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (!match(last.groups[d], read.indices[d])) return false;
    }
    return meets(form_.windows.row, form_.sum.line) && meets(form_.windows.column, form_.sum.place) &&
           covers_sum();
  }

 private:
  /// Groups of lines are literal.
  bool is_worth_it() const {
    if (!interior_of(program_, form_.windows, form_.windows.row)) return false;
    const Stage& sum = *form_.sum.sum;
    const int64_t width = sum.axes[static_cast<size_t>(form_.sum.place)].extent.value();
    int64_t bytes = 4 * width;
    bytes *= sum.axes[static_cast<size_t>(form_.sum.line)].extent.constant().value_or(0);
    for (const ir::Axis& axis : sum.reduce_axes) bytes *= axis.extent.value();
    return width >= least_width && bytes >= least_image_bytes;
  }

  /// A dimension of what lies between: an axis of the windows, all of which an axis of the sum passes over.
  bool match(const std::vector<int>& group, ir::ExprId index) {
    if (group.size() != 1) return false;
    const int window = form_.windows.epilogue == nullptr
                           ? group[0]
                           : form_.windows.epilogue_axes[static_cast<size_t>(group[0])];
    const auto linear = ir::linear_form(program_, index);
    const auto axis = linear ? linear->single_axis() : std::nullopt;
    if (window == ir::none || !axis) return false;
    if (extent_of(*form_.windows.reduction, window) != extent_of(*form_.sum.sum, *axis)) return false;
    form_.window_axes.push_back(window);
    form_.sum_axes.push_back(*axis);
    return true;
  }

  static const Dim& extent_of(const Stage& stage, int axis) {
    const auto at = static_cast<size_t>(axis);
    return at < stage.axes.size() ? stage.axes[at].extent : stage.reduce_axes[at - stage.axes.size()].extent;
  }

  bool meets(int window, int of_sum) const {
    const auto found = std::find(form_.window_axes.begin(), form_.window_axes.end(), window);
    return found != form_.window_axes.end() &&
           form_.sum_axes[static_cast<size_t>(found - form_.window_axes.begin())] == of_sum;
  }

  /// Every axis along the sum is one of the windows, no axis of the sum is two of them, and the windows of a
  /// line serve all rows.
  bool covers_sum() const {
    const auto count = [&](int axis) {
      return std::count(form_.sum_axes.begin(), form_.sum_axes.end(), axis);
    };
    const Stage& sum = *form_.sum.sum;
    const size_t axes = sum.axes.size();
    for (size_t axis = 0; axis < axes + sum.reduce_axes.size(); ++axis) {
      const auto times = count(static_cast<int>(axis));
      if (times > 1 || (axis >= axes && times == 0)) return false;
    }
    const bool every = std::all_of(form_.sum.outer.begin(), form_.sum.outer.end(),
                                   [&](int axis) { return count(axis) == 1; });
    return every && count(form_.sum.row) == 0;
  }

  const Program& program_;
  ChainedWindowsForm& form_;
};

}  // namespace

std::optional<ChainedWindowsForm> find_chained_windows(const Program& program, const WindowsForm& windows,
                                                       const GatheredForm& sum, Range both) {
  ChainedWindowsForm form;
  form.windows = windows;
  form.sum = sum;
  return ChainedWindowsFormFinder(program, form).run(both) ? std::optional(std::move(form)) : std::nullopt;
}

}  // namespace axrun::search
