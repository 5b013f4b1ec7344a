#include "search/pixels_form.h"

#include "ir/linear.h"
#include "search/monoid_values.h"
#include "search/window_move.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::Stage;

namespace {

class PixelsFormFinder {
 public:
  PixelsFormFinder(const Program& program, const GatheredForm& sum) : program_(program), stage_(*sum.sum) {
    form_.sum = sum;
  }

  std::optional<PixelsForm> run() {
    if (!form_.sum.left_constant || form_.sum.right.size() != 1) return std::nullopt;
    // Vectors of one lane are none.
    constexpr int64_t narrowest = 8;
    if (stage_.axes[static_cast<size_t>(form_.sum.row)].extent.value() % narrowest == 1) return std::nullopt;
    form_.load = form_.sum.right[0];
    const Expr& load = expr_of(program_, form_.load);
    if (load.op != ir::ScalarOp::load) return std::nullopt;
    form_.rows_last = are_rows_last();
    if (!read(load) || !guard(load)) return std::nullopt;
    if (form_.rows_last) return form_;
    const bool plain = form_.along.dimension + 1 == load.indices.size();
    return plain || stage_.axes[static_cast<size_t>(form_.sum.place)].extent == Dim(1) ? std::nullopt
                                                                                       : std::optional(form_);
  }

 private:
  bool are_rows_last() const {
    const GatheredForm& sum = form_.sum;
    size_t last = stage_.groups.size() - 1;
    if (sum.epilogue != nullptr) {
      if (sum.epilogue->groups.empty() || sum.epilogue->groups.back().size() != 1) return false;
      const int of_sum = sum.epilogue_dims[static_cast<size_t>(sum.epilogue->groups.back()[0])];
      if (of_sum == ir::none) return false;
      last = static_cast<size_t>(of_sum);
    }
    return !stage_.groups[last].empty() && stage_.groups[last].back() == sum.row;
  }

  /// The reduce axes of an index.
  std::vector<int> reduce_axes_of(const ir::Linear& index) const {
    std::vector<int> found;
    for (const auto& [axis, value] : index.coefficients) {
      const int number = axis - static_cast<int>(stage_.axes.size());
      if (number >= 0) found.push_back(number);
    }
    return found;
  }

  bool read(const Expr& load) {
    const ir::Dims& dims = program_.tensors[static_cast<size_t>(load.integer)].dims;
    bool down = false, along = false;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const auto index = ir::linear_form(program_, load.indices[d]);
      if (!index) return false;
      const bool by_line = index->coefficient(form_.sum.line) != Dim(0);
      const bool by_place = index->coefficient(form_.sum.place) != Dim(0);
      const std::vector<int> reduced = reduce_axes_of(*index);
      if (reduced.size() > 1 || (by_line && by_place)) return false;
      if (!by_line && !by_place) {
        form_.channels.push_back(reduced.empty() ? ir::none : reduced[0]);
        continue;
      }
      form_.channels.push_back(ir::none);
      if (by_line ? down : along) return false;
      (by_line ? down : along) = true;
      PixelMove& move = by_line ? form_.down : form_.along;
      if (!make(*index, by_line ? form_.sum.line : form_.sum.place, d, dims[d], move)) return false;
    }
    return down && along;
  }

  bool make(const ir::Linear& index, int axis, size_t dimension, const Dim& extent, PixelMove& move) const {
    const auto stride = index.coefficient(axis).constant(), start = index.constant.constant();
    if (!stride || *stride < 1 || !start) return false;
    move.dimension = dimension;
    move.stride = *stride;
    move.start = *start;
    move.extent = extent;
    size_t others = index.coefficients.size() - 1;
    for (const int number : reduce_axes_of(index)) {
      const auto tap = index.coefficient(static_cast<int>(stage_.axes.size()) + number).constant();
      if (!tap || *tap < 1) return false;
      move.reduce_axis = number;
      move.tap = *tap;
      move.taps = stage_.reduce_axes[static_cast<size_t>(number)].extent.value();
      --others;
    }
    return others == 0;
  }

  /// Whether a comparison says that an index is in one of its bounds.
  bool bounds(ExprId comparison, const Expr& load, const PixelMove& move) const {
    const auto margin = ir::margin_of(program_, expr_of(program_, comparison));
    const auto index = ir::linear_form(program_, load.indices[move.dimension]);
    if (!margin || !index) return false;
    ir::Linear above = *index * Dim(-1);
    above.constant = above.constant + move.extent - 1;
    return *margin == *index || *margin == above;
  }

  bool guard(const Expr& load) {
    if (load.args[0] == ir::none) return true;
    const auto comparisons = comparisons_of(program_, load.args[0]);
    if (!comparisons || !is_identity(program_, load.args[1], ir::Monoid::Kind::sum)) return false;
    for (const ExprId comparison : *comparisons) {
      const bool of_lines = bounds(comparison, load, form_.down);
      if (!of_lines && !bounds(comparison, load, form_.along)) return false;
      (of_lines ? form_.down : form_.along).guarded = true;
    }
    return form_.along.extent.is_constant();
  }

  const Program& program_;
  const Stage& stage_;
  PixelsForm form_;
};

}  // namespace

std::optional<PixelsForm> find_pixels(const Program& program, const Stage& sum, const Stage* epilogue,
                                      const std::vector<bool>& constant) {
  const FoundGathered found = find_gathered(program, sum, epilogue, constant);
  return found.found ? PixelsFormFinder(program, found.form).run() : std::nullopt;
}

}  // namespace axrun::search
