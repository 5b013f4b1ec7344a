#include "search/windows_form.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "ir/dim_polynomial.h"
#include "ir/grammar.h"
#include "search/epilogue.h"
#include "search/monoid_values.h"
#include "search/stage_values.h"
#include "search/window_move.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;
using ir::Stage;

namespace {

/// More taps are better reduced in loops of their own.
constexpr int64_t most_taps = 256;
/// Lanes further apart do not share what is read.
constexpr int64_t longest_step = 4;

class WindowsFormFinder {
 public:
  WindowsFormFinder(const Program& program, const Stage& reduction, const Stage* epilogue)
      : program_(program), reduction_(reduction), epilogue_(epilogue) {}

  FoundWindows run() {
    FoundWindows result;
    form_.reduction = &reduction_;
    form_.epilogue = epilogue_;
    result.reason = reason();
    result.found = result.reason.empty();
    result.form = form_;
    return result;
  }

 private:
  struct Read {
    std::vector<ir::Linear> indices;
    bool along_column = false;
  };

  std::string reason() {
    if (reduction_.kind != ir::StageKind::reduce || reduction_.monoid.kind == ir::Monoid::Kind::tuple)
      return "not a plain reduction";
    const ir::ElementType type = expr_of(program_, reduction_.body[0]).type;
    if (type != ir::ElementType::f32 && type != ir::ElementType::i32) return "not a reduction of f32 or i32";
    int64_t taps = 1;
    for (const ir::Axis& axis : reduction_.reduce_axes) {
      if (!axis.extent.is_constant()) return "the windows have an open size";
      taps = ir::saturating_multiply(taps, axis.extent.value());
    }
    if (taps < 2 || taps > most_taps) return "the windows have another number of taps than 2 to 256";
    if (epilogue_ != nullptr) {
      MatchedEpilogue matched = match_epilogue(program_, reduction_, *epilogue_);
      if (!matched.reason.empty()) return matched.reason;
      form_.epilogue_axes = std::move(matched.axes);
    }
    form_.outer = axes_in_memory_order(reduction_, epilogue_, form_.epilogue_axes);
    if (form_.outer.empty()) return "a single element";
    form_.column = form_.outer.back();
    form_.outer.pop_back();
    std::string wrong = reads();
    if (!wrong.empty()) return wrong;
    return roles();
  }

  std::string reads() {
    for (const ExprId load : loads_of(program_, reduction_.body[0])) {
      Read read;
      const Expr& expr = expr_of(program_, load);
      for (const ExprId index : expr.indices) {
        const auto linear = ir::linear_form(program_, index);
        if (!linear) return "an index is not linear";
        read.indices.push_back(*linear);
        const Dim step = linear->coefficient(form_.column);
        if (step == Dim(0)) continue;
        if (index != expr.indices.back()) return "columns are read far from each other";
        if (!step.is_constant() || step.value() < 1 || step.value() > longest_step)
          return "columns are read with a long step";
        read.along_column = true;
        form_.step = std::max(form_.step, step.value());
      }
      reads_.push_back(std::move(read));
    }
    return {};
  }

  int reduce_axis(int number) const { return static_cast<int>(reduction_.axes.size()) + number; }

  /// Whether some index moves with both axes.
  bool moves(int axis, int reduce_number) const {
    return std::any_of(reads_.begin(), reads_.end(), [&](const Read& read) {
      return std::any_of(read.indices.begin(), read.indices.end(), [&](const ir::Linear& index) {
        return index.coefficient(axis) != Dim(0) && index.coefficient(reduce_axis(reduce_number)) != Dim(0);
      });
    });
  }

  std::string roles() {
    const auto count = static_cast<int>(reduction_.reduce_axes.size());
    const auto windowed = [&](int axis) {
      for (int k = 0; k < count; ++k) {
        if (moves(axis, k)) return true;
      }
      return false;
    };
    const auto moves_along = [](const Read& read, int axis) {
      return std::any_of(read.indices.begin(), read.indices.end(),
                         [&](const ir::Linear& index) { return index.coefficient(axis) != Dim(0); });
    };
    // Channels-last: taps alone are reduced, and what they read belongs to a single element of the result.
    bool& channels_last = form_.channels_last;
    channels_last = !windowed(form_.column);
    for (int k = 0; k < count && channels_last; ++k) {
      channels_last =
          std::any_of(form_.outer.begin(), form_.outer.end(), [&](int axis) { return moves(axis, k); });
    }
    channels_last =
        channels_last && std::any_of(reads_.begin(), reads_.end(), [&](const Read& read) {
          return read.along_column && std::all_of(form_.outer.begin(), form_.outer.end(),
                                                  [&](int axis) { return moves_along(read, axis); });
        });
    for (const int axis : form_.outer) {
      if (windowed(axis)) {
        if (channels_last && form_.row != ir::none) form_.line = form_.row;
        form_.row = axis;
      }
      const bool everywhere = std::all_of(reads_.begin(), reads_.end(), [&](const Read& read) {
        return !read.along_column || moves_along(read, axis);
      });
      constexpr int64_t few = 2;
      const Dim& extent = reduction_.axes[static_cast<size_t>(axis)].extent;
      if (!everywhere && !channels_last && (!extent.is_constant() || extent.value() > few))
        return "windows serve several rows of the result, as in a product";
    }
    if (form_.row == ir::none && !windowed(form_.column)) return "the taps do not move with the result";
    if (std::none_of(reads_.begin(), reads_.end(), [](const Read& read) { return read.along_column; }))
      return "nothing that is read varies along the last axis";
    for (const Read& read : reads_) {
      for (const ir::Linear& index : read.indices) {
        if (form_.row == ir::none || !read.along_column) continue;
        form_.row_step = std::max(form_.row_step, index.coefficient(form_.row).constant().value_or(1));
      }
    }
    form_.outer.erase(std::remove(form_.outer.begin(), form_.outer.end(), form_.row), form_.outer.end());
    for (int k = 0; k < count; ++k) {
      const bool along_rows = form_.row != ir::none && moves(form_.row, k);
      (along_rows               ? form_.row_taps
       : moves(form_.column, k) ? form_.column_taps
                                : form_.other_taps)
          .push_back(k);
    }
    return {};
  }

  const Program& program_;
  const Stage& reduction_;
  const Stage* epilogue_;
  WindowsForm form_;
  std::vector<Read> reads_;
};

}  // namespace

FoundWindows find_windows(const Program& program, const Stage& reduction, const Stage* epilogue) {
  return WindowsFormFinder(program, reduction, epilogue).run();
}

std::optional<Strips> strips_of(const Program& program, const WindowsForm& form) {
  const Stage& stage = *form.reduction;
  const Expr& body = expr_of(program, stage.body[0]);
  // What a guard reads moves with the windows, too: the operand itself may be of rank 0.
  if (body.op != ScalarOp::load || body.indices.empty() || form.row_taps.size() != 1 ||
      form.column_taps.size() != 1 || !form.other_taps.empty())
    return std::nullopt;
  const auto axes = static_cast<int>(stage.axes.size());
  const int row_tap = axes + form.row_taps[0], column_tap = axes + form.column_taps[0];
  Strips strips;
  strips.operand = static_cast<ir::TensorId>(body.integer);
  for (const ExprId index : body.indices) {
    const std::set<int> used = axes_of(program, index);
    const bool last = index == body.indices.back();
    if (used.count(last ? row_tap : column_tap) != 0 || (last && used.count(form.row) != 0))
      return std::nullopt;
  }
  const Dim& exists = program.tensors[static_cast<size_t>(strips.operand)].dims.back();
  const auto move =
      window_move(program, stage, form.column, form.column_taps[0], body.indices.back(), exists);
  if (!move) return std::nullopt;
  const int64_t reach = move->tap * (move->taps - 1);
  strips.first = move->start + std::min<int64_t>(0, reach);
  strips.length = move->stride * (move->length - 1) + std::abs(reach) + 1;
  strips.begin = std::clamp<int64_t>(-strips.first, 0, strips.length);
  strips.end = std::clamp<int64_t>(move->extent - strips.first, strips.begin, strips.length);
  if (body.args[0] == ir::none) return strips;
  const auto guards = comparisons_of(program, body.args[0]);
  if (!guards || !is_identity(program, body.args[1], stage.monoid.kind)) return std::nullopt;
  for (const ExprId guard : *guards) {
    const std::set<int> used = axes_of(program, guard);
    const bool of_column = used.count(form.column) != 0 || used.count(column_tap) != 0;
    if (of_column && !holds_inside(program, guard, *move)) return std::nullopt;
    (of_column ? strips.column_guards : strips.row_guards).push_back(guard);
  }
  return strips;
}

int axis_outside_of_windows(const Program& program, const WindowsForm& windows, ir::TensorId tensor,
                            size_t dimension) {
  std::optional<int> result;
  for (const ExprId id : loads_of(program, windows.reduction->body[0])) {
    const Expr& load = program.exprs[static_cast<size_t>(id)];
    if (static_cast<ir::TensorId>(load.integer) != tensor) continue;
    const auto linear = ir::linear_form(program, load.indices[dimension]);
    const auto axis = linear ? linear->single_axis() : std::nullopt;
    const std::vector<int>& all = windows.outer;
    const bool outer = axis && std::find(all.begin(), all.end(), *axis) != all.end();
    if (!outer || (result && *result != *axis)) return ir::none;
    result = axis;
  }
  if (!result) return ir::none;
  const bool all = windows.reduction->axes[static_cast<size_t>(*result)].extent ==
                   program.tensors[static_cast<size_t>(tensor)].dims[dimension];
  return all ? *result : ir::none;
}

int64_t column_step(const Program& program, const WindowsForm& windows, ir::TensorId tensor) {
  std::optional<int64_t> step;
  for (const ExprId id : loads_of(program, windows.reduction->body[0])) {
    const Expr& load = program.exprs[static_cast<size_t>(id)];
    if (static_cast<ir::TensorId>(load.integer) != tensor) continue;
    const auto linear = ir::linear_form(program, load.indices.back());
    const auto here = linear ? linear->coefficient(windows.column).constant() : std::nullopt;
    if (!here || (step && *step != *here)) return 0;
    step = here;
  }
  return step.value_or(0);
}

std::optional<Interior> interior_of(const Program& program, const WindowsForm& form, int axis) {
  const Stage& stage = *form.reduction;
  const auto extent = stage.axes[static_cast<size_t>(axis)].extent.constant();
  if (!extent) return std::nullopt;
  Interior interior{0, *extent};
  std::vector<ExprId> guards;
  for (const ExprId load : loads_of(program, stage.body[0])) {
    if (expr_of(program, load).args[0] != ir::none) guards.push_back(expr_of(program, load).args[0]);
  }
  for (const ExprId id : ir::reachable(program, guards)) {
    const Expr& expr = expr_of(program, id);
    if (expr.op < ScalarOp::less || expr.op > ScalarOp::greater_equal) continue;
    if (axes_of(program, id).count(axis) == 0) continue;
    const auto margin = ir::margin_of(program, expr);
    if (!margin || !margin->constant.is_constant()) return std::nullopt;
    // The least favourable tap.
    int64_t rest = margin->constant.value();
    for (const auto& [other, coefficient] : margin->coefficients) {
      if (!coefficient.is_constant()) return std::nullopt;
      if (other == axis) continue;
      const auto number = static_cast<size_t>(other) - stage.axes.size();
      if (static_cast<size_t>(other) < stage.axes.size()) return std::nullopt;
      rest += std::min<int64_t>(0, coefficient.value() * (stage.reduce_axes[number].extent.value() - 1));
    }
    const int64_t slope = margin->coefficient(axis).value();
    if (slope > 0) {
      interior.first = std::max(interior.first, -ir::floor_quotient(rest, slope));
    } else {
      interior.end = std::min(interior.end, ir::floor_quotient(rest, -slope) + 1);
    }
  }
  interior.end = std::max(interior.end, interior.first);
  return interior;
}

}  // namespace axrun::search
