#include "search/rows_form.h"

#include <algorithm>
#include <map>

#include "ir/linear.h"

namespace axrun::search {

using ir::Dims;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::Stage;
using ir::TensorId;

namespace {

/// Works out which axes of each stage are those of the rows, starting from the first reduction.
class RowsFormFinder {
 public:
  RowsFormFinder(const Program& program, Range range)
      : program_(program), range_(range), rows_(range.count) {}

  FoundRows run() {
    FoundRows result;
    result.form.range = range_;
    const auto no = [&](const std::string& reason) {
      result.reason = reason;
      return result;
    };
    size_t start = range_.count;
    for (size_t k = range_.count; k-- > 0;) {
      if (stage(k).kind == ir::StageKind::reduce) start = k;
    }
    if (start == range_.count) return no("nothing is reduced");
    for (const ir::Axis& axis : stage(start).axes) result.form.rows.push_back(axis.extent);
    for (size_t axis = 0; axis < stage(start).axes.size(); ++axis)
      rows_[start].push_back(static_cast<int>(axis));
    known_.assign(range_.count, false);
    known_[start] = true;
    for (size_t round = 0; round < range_.count; ++round) {
      for (size_t k = 0; k < range_.count; ++k) spread(k);
    }
    for (size_t k = 0; k < range_.count; ++k) {
      if (!known_[k]) return no("stage '" + stage(k).name + "' does not belong to the rows");
      const std::string reason = check(k, result.form.rows);
      if (!reason.empty()) return no("stage '" + stage(k).name + "': " + reason);
      result.form.members.push_back({&stage(k), rows_[k], columns_of(k)});
    }
    result.found = true;
    return result;
  }

 private:
  const Stage& stage(size_t k) const { return program_.stages[range_.first + k]; }

  std::vector<int> columns_of(size_t k) const {
    std::vector<int> columns;
    const auto count = static_cast<int>(stage(k).axes.size() + stage(k).reduce_axes.size());
    for (int axis = 0; axis < count; ++axis) {
      if (std::find(rows_[k].begin(), rows_[k].end(), axis) == rows_[k].end()) columns.push_back(axis);
    }
    return columns;
  }

  /// The member that gives a tensor; range_.count when none does.
  size_t producer(TensorId tensor) const {
    for (size_t k = 0; k < range_.count; ++k) {
      if (stage(k).results[0] == tensor) return k;
    }
    return range_.count;
  }

  static bool one_axis_each(const Stage& stage) {
    return std::all_of(stage.groups.begin(), stage.groups.end(),
                       [](const std::vector<int>& group) { return group.size() == 1; });
  }

  /// What stage k reads of the others tells their rows from its own, and the other way round.
  void spread(size_t k) {
    for (const ExprId load : loads_of(program_, stage(k).body[0])) {
      const Expr& read = program_.exprs[static_cast<size_t>(load)];
      const size_t from = producer(static_cast<TensorId>(read.integer));
      if (from >= k || !one_axis_each(stage(from)) || known_[from] == known_[k]) continue;
      std::vector<int> own;  // the axis of k for each dimension; -1 where the index is something else
      for (const ExprId index : read.indices) {
        const auto linear = ir::linear_form(program_, index);
        own.push_back(linear ? linear->single_axis().value_or(-1) : -1);
      }
      std::vector<int> rows;
      if (known_[from]) {
        for (const int axis : rows_[from]) rows.push_back(own[static_cast<size_t>(axis)]);
        // None along an axis, or along one that this stage reduces over.
        const auto kept = static_cast<int>(stage(k).axes.size());
        if (std::any_of(rows.begin(), rows.end(), [&](int axis) { return axis < 0 || axis >= kept; }))
          continue;
        rows_[k] = rows;
        known_[k] = true;
      } else {
        for (const int axis : rows_[k]) {
          const auto place = std::find(own.begin(), own.end(), axis);
          if (place == own.end()) break;
          rows.push_back(static_cast<int>(place - own.begin()));
        }
        if (rows.size() != rows_[k].size()) continue;
        rows_[from] = rows;
        known_[from] = true;
      }
    }
  }

  std::string check(size_t k, const Dims& extents) const {
    const Stage& here = stage(k);
    for (size_t g = 0; g < extents.size(); ++g) {
      const int axis = rows_[k][g];
      if (std::count(rows_[k].begin(), rows_[k].end(), axis) != 1) return "one axis for two of the rows'";
      if (axis >= static_cast<int>(here.axes.size())) return "it reduces over the rows";
      if (here.axes[static_cast<size_t>(axis)].extent != extents[g]) return "it has other rows";
    }
    const bool reduces = here.kind == ir::StageKind::reduce;
    if (reduces && here.axes.size() != extents.size()) return "it reduces parts of a row";
    for (const ExprId load : loads_of(program_, here.body[0])) {
      const Expr& read = program_.exprs[static_cast<size_t>(load)];
      const size_t from = producer(static_cast<TensorId>(read.integer));
      if (from == range_.count) continue;
      if (read.args[0] != ir::none) return "it reads another stage under a guard";
      if (!one_axis_each(stage(from))) return "it reads a reshaped stage";
      for (size_t g = 0; g < extents.size(); ++g) {
        const auto linear = ir::linear_form(program_, read.indices[static_cast<size_t>(rows_[from][g])]);
        if (!linear || linear->single_axis() != rows_[k][g]) return "it reads another row";
      }
    }
    return {};
  }

  const Program& program_;
  const Range range_;
  std::vector<std::vector<int>> rows_;
  std::vector<bool> known_;
};

}  // namespace

FoundRows find_rows(const Program& program, Range range) { return RowsFormFinder(program, range).run(); }

}  // namespace axrun::search
