#include "search/transposition.h"

#include <map>
#include <optional>

#include "ir/grammar.h"
#include "search/linear.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::Program;
using ir::ScalarOp;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

/// Elements that are so far apart at most are loaded as whole vectors all the same, and picked.
constexpr int64_t near = 3;

/// The row-major position of what a load reads; nothing where it is not linear.
std::optional<Linear> position_of(const Program& program, const Expr& load) {
  const ir::TensorDecl& tensor = program.tensors[static_cast<size_t>(load.integer)];
  Linear position;
  for (size_t d = 0; d < load.indices.size(); ++d) {
    const auto index = linear_form(program, load.indices[d]);
    if (!index) return std::nullopt;
    position = position * tensor.dims[d];
    position += *index;
  }
  return position;
}

class Finder {
 public:
  Finder(const Program& program, const ir::Stage& stage, int along) : program_(program), along_(along) {
    for (const ExprId id : loads_of(program, stage.body[0]))
      positions_[id] = position_of(program, program.exprs[static_cast<size_t>(id)]);
  }

  Transposition run(const ir::Stage& stage) {
    Transposition best;
    if (stage.axes[static_cast<size_t>(along_)].extent == Dim(1)) return best;
    size_t most = 0;
    for (int axis = 0; axis < static_cast<int>(stage.axes.size()); ++axis) {
      if (axis == along_ || stage.axes[static_cast<size_t>(axis)].extent == Dim(1)) continue;
      across_ = axis;
      size_t count = 0;
      for (const auto& [id, position] : positions_) count += is_crossed(id) ? 1 : 0;
      if (count <= most) continue;
      Transposition found{axis, {}};
      visited_.clear();
      collect(stage.body[0], found.rows);
      if (found.rows.empty()) continue;
      best = found;
      most = count;
    }
    return best;
  }

 private:
  bool is_crossed(ExprId load) const {
    const std::optional<Linear>& position = positions_.at(load);
    if (!position || position->coefficient(across_) != Dim(1)) return false;
    const std::optional<int64_t> stride = position->coefficient(along_).constant();
    return !stride || *stride < 0 || *stride > near;
  }

  /// Whether neighbours across are neighbours in memory, or the same element.
  bool is_row(ExprId load) const {
    const std::optional<Linear>& position = positions_.at(load);
    return position && (position->coefficient(across_) == Dim(1) || position->coefficient(across_) == Dim(0));
  }

  void collect(ExprId id, std::vector<ExprId>& rows) {
    if (!visited_.insert(id).second) return;
    bool all = true, crossed = false;
    for (const ExprId load : loads_of(program_, id)) {
      all = all && is_row(load);
      crossed = crossed || is_crossed(load);
    }
    if (!crossed) return;
    const Expr& expr = program_.exprs[static_cast<size_t>(id)];
    if (all && expr.type == ir::ElementType::f32) return rows.push_back(id);
    for (const ExprId argument : expr.args) {
      if (argument != ir::none) collect(argument, rows);
    }
  }

  const Program& program_;
  const int along_;
  int across_ = ir::none;
  std::map<ExprId, std::optional<Linear>> positions_;
  std::set<ExprId> visited_;
};

}  // namespace

Transposition find_transposition(const Program& program, const ir::Stage& stage, int along) {
  return Finder(program, stage, along).run(stage);
}

void write_transposed(
    LoopWriter& writer, const TransposedTile& tile, const std::string& name, size_t count,
    const std::function<int(size_t n, const Dim& row, const Dim& column)>& row,
    const std::function<void(const Dim& row, const Dim& column, const std::vector<Access>& values)>& column) {
  std::vector<int> tiles;
  for (size_t n = 0; n < count; ++n) {
    tiles.push_back(
        writer.allocate(name, ir::ElementType::f32, {Dim(tile.rows), Dim(tile.columns)}, Level::registers));
    writer.loop(LoopKind::unrolled, "r", tile.rows_here, [&](const Dim& r) {
      writer.loop(LoopKind::vector, "v", tile.columns_here, [&](const Dim& v) {
        writer.store({tiles[n], {r, v}}, Combine::assign, row(n, r, v));
      });
    });
  }
  writer.loop(LoopKind::unrolled, "c", tile.columns_here, [&](const Dim& c) {
    writer.loop(LoopKind::vector, "v", tile.rows_here, [&](const Dim& v) {
      std::vector<Access> values;
      for (const int id : tiles) values.push_back({id, {v, c}});
      column(v, c, values);
    });
  });
}

}  // namespace axrun::search
