#include "search/decided_parts.h"

#include "ir/grammar.h"
#include "search/stage_values.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::ScalarOp;

namespace {

std::map<ExprId, bool> decided_at(const ir::Program& program, const std::vector<ExprId>& comparisons,
                                  const ir::Dims& point) {
  std::map<ExprId, bool> known;
  for (const ExprId id : comparisons) {
    const Expr& expr = program.exprs[static_cast<size_t>(id)];
    const auto left = index_at(program, expr.args[0], point), right = index_at(program, expr.args[1], point);
    if (!left || !right) continue;
    const Dim difference = *left - *right;
    if (!difference.is_constant()) continue;
    const int64_t value = difference.value();
    known[id] = expr.op == ScalarOp::less         ? value < 0
                : expr.op == ScalarOp::less_equal ? value <= 0
                : expr.op == ScalarOp::greater    ? value > 0
                                                  : value >= 0;
  }
  return known;
}

}  // namespace

std::vector<DecidedPart> decided_parts(const ir::Program& program, const std::vector<ExprId>& expressions,
                                       ir::Dims point, int axis, int64_t extent, size_t most) {
  std::vector<ExprId> comparisons;
  for (const ExprId id : ir::reachable(program, expressions)) {
    const ScalarOp op = program.exprs[static_cast<size_t>(id)].op;
    if (op >= ScalarOp::less && op <= ScalarOp::greater_equal) comparisons.push_back(id);
  }
  std::vector<DecidedPart> parts;
  for (int64_t at = 0; at < extent; ++at) {
    point[static_cast<size_t>(axis)] = Dim(at);
    std::map<ExprId, bool> known = decided_at(program, comparisons, point);
    if (!parts.empty() && parts.back().known == known) {
      parts.back().end = at + 1;
      continue;
    }
    if (parts.size() == most) return {{0, extent, {}}};
    parts.push_back({at, at + 1, std::move(known)});
  }
  return parts;
}

}  // namespace axrun::search
