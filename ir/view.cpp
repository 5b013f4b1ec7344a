#include "ir/view.h"

#include <algorithm>

#include "ir/linear.h"

namespace axrun::ir {
namespace {

/// Products beyond this are not followed: no index of a real tensor reaches it.
constexpr int64_t magnitude_limit = int64_t{1} << 46;

bool scale(AffineIndex& index, int64_t factor) {
  const auto scaled = [&](int64_t& value) {
    return !__builtin_mul_overflow(value, factor, &value) && value <= magnitude_limit &&
           value >= -magnitude_limit;
  };
  bool fits = scaled(index.constant);
  for (int64_t& coefficient : index.coefficients) fits = scaled(coefficient) && fits;
  return fits;
}

void accumulate(AffineIndex& index, const AffineIndex& other, int64_t sign) {
  index.constant += sign * other.constant;
  for (size_t a = 0; a < index.coefficients.size(); ++a)
    index.coefficients[a] += sign * other.coefficients[a];
}

bool is_constant(const AffineIndex& index) {
  for (int64_t coefficient : index.coefficients) {
    if (coefficient != 0) return false;
  }
  return true;
}

}  // namespace

std::optional<AffineIndex> affine_index(const Program& program, const Stage& stage, ExprId id) {
  const Expr& expr = program.exprs[static_cast<size_t>(id)];
  AffineIndex index;
  index.coefficients.resize(stage.axes.size() + stage.reduce_axes.size(), 0);
  switch (expr.op) {
    case ScalarOp::integer:
      index.constant = expr.integer;
      break;
    case ScalarOp::extent:
      if (!expr.dim.is_constant()) return std::nullopt;
      index.constant = expr.dim.value();
      break;
    case ScalarOp::axis:
      index.coefficients[static_cast<size_t>(expr.integer)] = 1;
      return index;
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul: {
      auto a = affine_index(program, stage, expr.args[0]);
      auto b = affine_index(program, stage, expr.args[1]);
      if (!a || !b) return std::nullopt;
      if (expr.op != ScalarOp::mul) {
        accumulate(*a, *b, expr.op == ScalarOp::add ? 1 : -1);
        return a;
      }
      if (is_constant(*a)) std::swap(a, b);
      if (!is_constant(*b) || !scale(*a, b->constant)) return std::nullopt;
      return a;
    }
    default:
      return std::nullopt;
  }
  if (index.constant > magnitude_limit || index.constant < -magnitude_limit) return std::nullopt;
  return index;
}

bool only_moves(const Program& program) {
  if (program.stages.size() != 1 || program.outputs.empty()) return false;
  const Stage& stage = program.stages[0];
  if (stage.kind != StageKind::map || stage.results.size() != 1 || program.outputs[0] != stage.results[0])
    return false;
  const Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  return body.op == ScalarOp::load && body.args[0] == none;
}

int viewed_operand(const Program& program) {
  if (!only_moves(program)) return -1;
  const Stage& stage = program.stages[0];
  const Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  const TensorDecl& from = program.tensors[static_cast<size_t>(body.integer)];
  const TensorDecl& to = program.tensors[static_cast<size_t>(stage.results[0])];
  if (from.type != to.type || product(from.dims) != product(to.dims)) return -1;
  // Position in the operand and in the result, both linear in the axes.
  Linear position;
  Dim stride = 1;
  for (size_t d = from.dims.size(); d-- > 0;) {
    const auto index = linear_form(program, body.indices[d]);
    if (!index) return -1;
    position += *index * stride;
    stride = stride * from.dims[d];
  }
  if (position.constant != Dim(0)) return -1;
  Dim wanted = 1;
  for (size_t a = stage.axes.size(); a-- > 0;) {
    const Dim& extent = stage.axes[a].extent;
    const bool has_two = !extent.is_constant() || extent.value() > 1;
    if (has_two && position.coefficient(static_cast<int>(a)) != wanted) return -1;
    wanted = wanted * extent;
  }
  const auto operand = std::find(program.operands.begin(), program.operands.end(), body.integer);
  return operand == program.operands.end() ? -1 : static_cast<int>(operand - program.operands.begin());
}

}  // namespace axrun::ir
