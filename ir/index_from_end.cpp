#include "ir/index_from_end.h"

namespace axrun::ir {
namespace {

bool is_size(const Expr& expr, const Dim& size) {
  if (expr.op == ScalarOp::integer && expr.type == ElementType::i64) return size == Dim(expr.integer);
  return expr.op == ScalarOp::extent && expr.dim == size;
}

}  // namespace

std::optional<ExprId> index_from_end(const Program& program, ExprId id, const Dim& extent) {
  const auto at = [&](ExprId which) -> const Expr& { return program.exprs[static_cast<size_t>(which)]; };
  const Expr& whole = at(id);
  if (whole.op != ScalarOp::select || whole.type != ElementType::i64) return std::nullopt;
  const ExprId index = whole.args[2];
  const Expr &negative = at(whole.args[0]), &moved = at(whole.args[1]);
  const bool tests =
      negative.op == ScalarOp::less && negative.args[0] == index && is_size(at(negative.args[1]), Dim(0));
  const bool moves =
      moved.op == ScalarOp::add && ((moved.args[0] == index && is_size(at(moved.args[1]), extent)) ||
                                    (moved.args[1] == index && is_size(at(moved.args[0]), extent)));
  if (!tests || !moves) return std::nullopt;
  ExprId load = index;
  if (at(load).op == ScalarOp::cast) load = at(load).args[0];
  const Expr& read = at(load);
  const bool readable = read.op == ScalarOp::load && read.args[0] == none &&
                        (read.type == ElementType::i32 || read.type == ElementType::i64);
  return readable ? std::optional(load) : std::nullopt;
}

}  // namespace axrun::ir
