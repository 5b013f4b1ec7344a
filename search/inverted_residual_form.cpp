#include "search/inverted_residual_form.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "ir/dim_polynomial.h"
#include "ir/linear.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;
using ir::Stage;

namespace {

/// What the product gives must be more than caches keep in any case.
constexpr int64_t least_residual_bytes = int64_t{128} << 10;

class InvertedResidualFormFinder {
 public:
  InvertedResidualFormFinder(const Program& program, InvertedResidualForm& form)
      : program_(program), form_(form), sum_(*form.product.sum), windows_(form.windows.windows) {}

  bool run(Range both) {
    const Stage& last = form_.product.last();
    form_.between = last.results[0];
    const ir::TensorDecl& tensor = program_.tensors[static_cast<size_t>(form_.between)];
    if (tensor.type != ir::ElementType::f32 || is_read_outside(program_, form_.between, both)) return false;
    if (!has_lines() || !is_worth_it(tensor)) return false;
    const Expr* read = only_read();
    if (read == nullptr) return false;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      if (!match(last.groups[d], read->indices[d], tensor.dims[d])) return false;
    }
    return form_.channel.windows != ir::none && form_.move.axis != ir::none &&
           form_.batch.size() + 1 == form_.product.outer.size() && decides_outer();
  }

 private:
  int reduce_axis(int number) const { return static_cast<int>(windows_.reduction->axes.size()) + number; }

  /// The right side is lines one after another in memory, which rows and lines of the result share.
  bool has_lines() {
    const ProductForm& product = form_.product;
    if (product.row == ir::none || product.outer.empty() || product.across || product.right.size() != 1)
      return false;
    form_.line = product.outer.back();
    const auto width = sum_.axes[static_cast<size_t>(product.column)].extent.constant();
    const Expr& right = program_.exprs[static_cast<size_t>(product.right[0])];
    if (!width || right.op != ScalarOp::load || right.args[0] != ir::none) return false;
    form_.width = *width;
    for (const ExprId factor : product.left) {
      if (axes_of(program_, factor).count(form_.line) != 0) return false;
    }
    for (size_t d = 0; d < right.indices.size(); ++d) {
      const auto index = ir::linear_form(program_, right.indices[d]);
      const bool last = d + 1 == right.indices.size();
      if (!index || index->coefficient(product.column) != Dim(last ? 1 : 0) ||
          index->coefficient(form_.line) != Dim(last ? form_.width : 0))
        return false;
    }
    if (product.epilogue != nullptr && !is_same_at_places(product.epilogue->body[0])) return false;
    return std::all_of(sum_.reduce_axes.begin(), sum_.reduce_axes.end(),
                       [](const ir::Axis& axis) { return axis.extent.is_constant(); });
  }

  /// Of one of a batch; sizes are literal but for this.
  bool is_worth_it(const ir::TensorDecl& tensor) const {
    int64_t bytes = 4;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const auto extent = tensor.dims[d].constant();
      const bool is_inner = d + 3 >= tensor.dims.size();
      if (is_inner && !extent) return false;
      if (is_inner) bytes = ir::saturating_multiply(bytes, *extent);
    }
    return bytes >= least_residual_bytes;
  }

  /// Whether what follows the product is the same at all places of all lines, but for the product.
  bool is_same_at_places(ExprId id) const {
    const Expr& expr = program_.exprs[static_cast<size_t>(id)];
    if (expr.op == ScalarOp::load && static_cast<ir::TensorId>(expr.integer) == sum_.results[0]) return true;
    if (expr.op == ScalarOp::axis) {
      const int axis = form_.product.epilogue_axes[static_cast<size_t>(expr.integer)];
      return axis != form_.line && axis != form_.product.column;
    }
    const auto all = [&](const auto& ids) {
      return std::all_of(ids.begin(), ids.end(), [&](ExprId argument) {
        return argument == ir::none || is_same_at_places(argument);
      });
    };
    return all(expr.args) && all(expr.indices);
  }

  const Expr* only_read() const {
    const Expr* read = nullptr;
    for (const ExprId id : loads_of(program_, windows_.reduction->body[0])) {
      const Expr& load = program_.exprs[static_cast<size_t>(id)];
      if (static_cast<ir::TensorId>(load.integer) != form_.between) continue;
      if (read != nullptr) return nullptr;
      read = &load;
    }
    return read;
  }

  /// A dimension of what lies between is the column, along which windows may do as they like, the line, along
  /// which they move, or one that both pass over.
  bool match(const std::vector<int>& group, ExprId index, const Dim& extent) {
    if (group.size() != 1) return false;
    const ProductForm& product = form_.product;
    const int axis =
        product.epilogue == nullptr ? group[0] : product.epilogue_axes[static_cast<size_t>(group[0])];
    if (axis == ir::none) return false;
    form_.dimensions.push_back(axis);
    if (axis == product.column) return true;
    if (axis == form_.line) return moves(index, extent);
    const auto linear = ir::linear_form(program_, index);
    const auto own = linear ? linear->single_axis() : std::nullopt;
    const std::vector<int>& outer = windows_.outer;
    if (!own || std::find(outer.begin(), outer.end(), *own) == outer.end()) return false;
    if (windows_.reduction->axes[static_cast<size_t>(*own)].extent != extent) return false;
    if (axis == product.row)
      form_.channel = {axis, *own};
    else
      form_.batch.push_back({axis, *own});
    return true;
  }

  bool moves(ExprId index, const Dim& extent) {
    if (windows_.row_taps.size() != 1) return false;
    const auto move =
        window_move(program_, *windows_.reduction, windows_.row, windows_.row_taps[0], index, extent);
    if (!move) return false;
    form_.move = *move;
    return true;
  }

  /// Channels are along the sum after the windows, what else both pass over is outside of it.
  bool decides_outer() const {
    const auto is_outside = [&](int axis) {
      const ChainedWindowsForm& windows = form_.windows;
      for (size_t k = 0; k < windows.window_axes.size(); ++k) {
        if (windows.window_axes[k] == axis)
          return std::count(windows.sum.outer.begin(), windows.sum.outer.end(), windows.sum_axes[k]) != 0;
      }
      return false;
    };
    return !is_outside(form_.channel.windows) && std::all_of(form_.batch.begin(), form_.batch.end(),
                                                             [&](const InvertedResidualForm::Shared& shared) {
                                                               return is_outside(shared.windows);
                                                             });
  }

  const Program& program_;
  InvertedResidualForm& form_;
  const Stage& sum_;
  const WindowsForm& windows_;
};

}  // namespace

Dim InvertedResidualForm::first_line(const Dim& first) const {
  return Dim(move.stride) * first + Dim(move.start + std::min<int64_t>(0, move.tap * (move.taps - 1)));
}

int64_t InvertedResidualForm::lines(int64_t count) const {
  return move.stride * (count - 1) + std::abs(move.tap) * (move.taps - 1) + 1;
}

std::optional<InvertedResidualForm> find_inverted_residual(const Program& program, const ProductForm& product,
                                                           const ChainedWindowsForm& windows, Range both) {
  InvertedResidualForm form;
  form.product = product;
  form.windows = windows;
  return InvertedResidualFormFinder(program, form).run(both) ? std::optional(std::move(form)) : std::nullopt;
}

}  // namespace axrun::search
