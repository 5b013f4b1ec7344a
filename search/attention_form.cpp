#include "search/attention_form.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ir/linear.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::Stage;
using ir::TensorId;

namespace {

/// For each dimension of a tensor the axis that a load reads it along; none where it is something else.
std::vector<int> axes_read(const Program& program, const Expr& load) {
  std::vector<int> axes;
  for (const ExprId index : load.indices) {
    const auto linear = ir::linear_form(program, index);
    axes.push_back(linear ? linear->single_axis().value_or(ir::none) : ir::none);
  }
  return axes;
}

/// The dimensions of a tensor along which stages read their own rows: for each axis of the rows, in every
/// load the same one. Nothing where the rows are not told apart, or nobody reads it.
std::optional<std::vector<int>> dimensions_of_rows(const Program& program, const RowsForm& rows,
                                                   TensorId tensor) {
  std::optional<std::vector<int>> result;
  for (const RowsForm::Member& member : rows.members) {
    for (const ExprId id : loads_of(program, member.stage->body[0])) {
      const Expr& load = program.exprs[static_cast<size_t>(id)];
      if (load.integer != tensor) continue;
      const std::vector<int> axes = axes_read(program, load);
      std::vector<int> dimensions;
      for (const int row : member.rows) {
        if (std::count(axes.begin(), axes.end(), row) != 1) return std::nullopt;
        dimensions.push_back(static_cast<int>(std::find(axes.begin(), axes.end(), row) - axes.begin()));
      }
      if (result && *result != dimensions) return std::nullopt;
      result = std::move(dimensions);
    }
  }
  return result;
}

bool reads(const Program& program, const Stage& stage, TensorId tensor) {
  const std::vector<ExprId> loads = loads_of(program, stage.body[0]);
  return std::any_of(loads.begin(), loads.end(),
                     [&](ExprId id) { return program.exprs[static_cast<size_t>(id)].integer == tensor; });
}

bool has(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

class AttentionFormFinder {
 public:
  AttentionFormFinder(const Program& program, AttentionForm& form) : program_(program), form_(form) {}

  bool run(Range whole) {
    form_.score_tensor = form_.scores.last().results[0];
    form_.probability_tensor = form_.rows.members.back().stage->results[0];
    const bool varies =
        !form_.scores.left_constant && !form_.scores.right_constant && !form_.output.right_constant;
    if (!varies || form_.scores.row == ir::none || form_.output.row == ir::none || !passes_on(whole))
      return false;
    const auto score_dimensions = dimensions_of_rows(program_, form_.rows, form_.score_tensor);
    const auto output_axes = axes_of_output();
    if (!score_dimensions || !output_axes) return false;
    bool found_query = false;
    for (size_t g = 0; g < form_.rows.rows.size(); ++g) {
      AttentionForm::Shared shared;
      shared.row = static_cast<int>(g);
      shared.score_dimension = (*score_dimensions)[g];
      shared.scores = axis_of_scores(shared.score_dimension);
      shared.probability_dimension = dimension_of_probabilities(form_.rows.members.back().rows[g]);
      if (shared.scores == ir::none || shared.probability_dimension == ir::none) return false;
      shared.output = (*output_axes)[static_cast<size_t>(shared.probability_dimension)];
      if (shared.scores == form_.scores.row && shared.output == form_.output.row) {
        form_.query = shared;
        found_query = true;
      } else if (has(form_.scores.outer, shared.scores) && has(form_.output.outer, shared.output)) {
        form_.batch.push_back(shared);
      } else {
        return false;
      }
    }
    return found_query;
  }

 private:
  /// The scores are read by the rows only, what the rows give by the last product only, and nothing else is
  /// read outside.
  bool passes_on(Range whole) const {
    for (size_t s = whole.first; s + 1 < whole.first + whole.count; ++s) {
      const TensorId result = program_.stages[s].results[0];
      if (is_read_outside(program_, result, whole)) return false;
    }
    for (const RowsForm::Member& member : form_.rows.members) {
      const TensorId result = member.stage->results[0];
      const bool read = reads(program_, *form_.output.sum, result) ||
                        (form_.output.epilogue != nullptr && reads(program_, *form_.output.epilogue, result));
      if (read && result != form_.probability_tensor) return false;
    }
    for (const Stage* stage : {form_.output.sum, form_.output.epilogue}) {
      if (stage != nullptr && reads(program_, *stage, form_.score_tensor)) return false;
    }
    return form_.output.epilogue == nullptr ||
           !reads(program_, *form_.output.epilogue, form_.probability_tensor);
  }

  /// The axis of the first sum that a dimension of the scores is.
  int axis_of_scores(int dimension) const {
    const std::vector<int>& group = form_.scores.last().groups[static_cast<size_t>(dimension)];
    if (group.size() != 1) return ir::none;
    return form_.scores.epilogue == nullptr ? group[0]
                                            : form_.scores.epilogue_axes[static_cast<size_t>(group[0])];
  }

  int dimension_of_probabilities(int axis) const {
    const std::vector<std::vector<int>>& groups = form_.rows.members.back().stage->groups;
    for (size_t d = 0; d < groups.size(); ++d) {
      if (groups[d].size() == 1 && groups[d][0] == axis) return static_cast<int>(d);
    }
    return ir::none;
  }

  /// For each dimension of what the rows give, the axis of the last sum; all loads agree.
  std::optional<std::vector<int>> axes_of_output() const {
    std::optional<std::vector<int>> result;
    for (const ExprId id : loads_of(program_, form_.output.sum->body[0])) {
      const Expr& load = program_.exprs[static_cast<size_t>(id)];
      if (load.integer != form_.probability_tensor) continue;
      std::vector<int> axes = axes_read(program_, load);
      if (result && *result != axes) return std::nullopt;
      result = std::move(axes);
    }
    return result;
  }

  const Program& program_;
  AttentionForm& form_;
};

}  // namespace

FoundAttention find_attention(const Program& program, const ProductForm& scores, const RowsForm& rows,
                              const ProductForm& output, Range whole) {
  FoundAttention result;
  result.form.scores = scores;
  result.form.rows = rows;
  result.form.output = output;
  result.found = AttentionFormFinder(program, result.form).run(whole);
  return result;
}

}  // namespace axrun::search
