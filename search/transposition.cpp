#include "search/transposition.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ir/grammar.h"
#include "ir/linear.h"

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

std::optional<ir::Linear> position_of(const Program& program, const Expr& load) {
  const ir::TensorDecl& tensor = program.tensors[static_cast<size_t>(load.integer)];
  ir::Linear position;
  for (size_t d = 0; d < load.indices.size(); ++d) {
    const auto index = ir::linear_form(program, load.indices[d]);
    if (!index) return std::nullopt;
    position = position * tensor.dims[d];
    position += *index;
  }
  return position;
}

namespace {

/// Elements that are so far apart at most are loaded as whole vectors all the same, and picked.
constexpr int64_t near = 3;

/// How loads move along two axes of their stage.
class Moves {
 public:
  Moves(const Program& program, int along, int across) : program_(program), along_(along), across_(across) {}

  /// Neighbours across are neighbours in memory, and neighbours along are far apart.
  bool is_crossed(ExprId load) const {
    const auto position = position_of(program_, program_.exprs[static_cast<size_t>(load)]);
    if (!position || position->coefficient(across_) != Dim(1)) return false;
    const std::optional<int64_t> stride = position->coefficient(along_).constant();
    return !stride || *stride < 0 || *stride > near;
  }

  /// Whether every load of an expression can be made for neighbours across, and some are better made so.
  struct Kind {
    bool rows = true, crossed = false;
  };
  Kind kind_of(ExprId id) const {
    Kind kind;
    for (const ExprId load : loads_of(program_, id)) {
      const auto position = position_of(program_, program_.exprs[static_cast<size_t>(load)]);
      const Dim step = position ? position->coefficient(across_) : Dim(-1);
      kind.rows = kind.rows && (step == Dim(0) || step == Dim(1));
      kind.crossed = kind.crossed || is_crossed(load);
    }
    return kind;
  }

  /// The largest expressions that can be worked out across, and should be.
  void collect(ExprId id, std::set<ExprId>& visited, std::vector<ExprId>& rows) const {
    if (!visited.insert(id).second) return;
    const Kind kind = kind_of(id);
    if (!kind.crossed) return;
    const Expr& expr = program_.exprs[static_cast<size_t>(id)];
    if (kind.rows && ir::size_of(expr.type) <= 4) return rows.push_back(id);
    for (const ExprId argument : expr.args) {
      if (argument != ir::none) collect(argument, visited, rows);
    }
  }

 private:
  const Program& program_;
  const int along_, across_;
};

}  // namespace

Transposition find_transposition(const Program& program, const ir::Stage& stage, int along) {
  Transposition best;
  if (stage.axes[static_cast<size_t>(along)].extent == Dim(1)) return best;
  const std::vector<ExprId> loads = loads_of(program, stage.body[0]);
  std::ptrdiff_t most = 0;
  for (int axis = 0; axis < static_cast<int>(stage.axes.size()); ++axis) {
    if (axis == along || stage.axes[static_cast<size_t>(axis)].extent == Dim(1)) continue;
    const Moves moves(program, along, axis);
    const auto count =
        std::count_if(loads.begin(), loads.end(), [&](ExprId load) { return moves.is_crossed(load); });
    if (count <= most) continue;
    Transposition found{axis, {}};
    std::set<ExprId> visited;
    moves.collect(stage.body[0], visited, found.rows);
    if (found.rows.empty()) continue;
    best = found;
    most = count;
  }
  return best;
}

bool is_read_across(const Program& program, const std::vector<ExprId>& ids, int along, int across) {
  const Moves moves(program, along, across);
  bool crossed = false;
  for (const ExprId id : ids) {
    const Moves::Kind kind = moves.kind_of(id);
    if (!kind.rows) return false;
    crossed = crossed || kind.crossed;
  }
  return crossed;
}

void write_transposed(
    LoopWriter& writer, const TransposedTile& tile, const std::string& name,
    const std::vector<ir::ElementType>& types,
    const std::function<int(size_t n, const Dim& row, const Dim& column)>& row,
    const std::function<void(const Dim& row, const Dim& column, const std::vector<Access>& values)>& column) {
  std::vector<int> tiles;
  for (size_t n = 0; n < types.size(); ++n) {
    tiles.push_back(writer.allocate(name, types[n], {Dim(tile.rows), Dim(tile.columns)}, Level::registers));
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
