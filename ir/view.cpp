#include "ir/view.h"

#include <algorithm>

#include "ir/tensor.h"

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

/// constant + sum of coefficients[a] * axis a, over named sizes.
struct OpenIndex {
  Dim constant;
  Dims coefficients;
};

bool is_constant(const OpenIndex& index) {
  return std::all_of(index.coefficients.begin(), index.coefficients.end(),
                     [](const Dim& one) { return one == Dim(0); });
}

/// Empty when the expression is not affine in the stage's axes.
std::optional<OpenIndex> open_index(const Program& program, const Stage& stage, ExprId id) {
  const Expr& expr = program.exprs[static_cast<size_t>(id)];
  OpenIndex index{0, Dims(stage.axes.size(), 0)};
  switch (expr.op) {
    case ScalarOp::integer:
      index.constant = expr.integer;
      return index;
    case ScalarOp::extent:
      index.constant = expr.dim;
      return index;
    case ScalarOp::axis:
      index.coefficients.at(static_cast<size_t>(expr.integer)) = 1;
      return index;
    case ScalarOp::add:
    case ScalarOp::sub:
    case ScalarOp::mul: {
      auto a = open_index(program, stage, expr.args[0]), b = open_index(program, stage, expr.args[1]);
      if (!a || !b) return std::nullopt;
      if (expr.op == ScalarOp::mul) {
        if (is_constant(*a)) std::swap(a, b);
        if (!is_constant(*b)) return std::nullopt;
        a->constant = a->constant * b->constant;
        for (Dim& one : a->coefficients) one = one * b->constant;
        return a;
      }
      const Dim sign = expr.op == ScalarOp::add ? 1 : -1;
      a->constant = a->constant + b->constant * sign;
      for (size_t k = 0; k < a->coefficients.size(); ++k)
        a->coefficients[k] = a->coefficients[k] + b->coefficients[k] * sign;
      return a;
    }
    default:
      return std::nullopt;
  }
}

int operand_of(const Program& program, TensorId tensor) {
  for (size_t k = 0; k < program.operands.size(); ++k) {
    if (program.operands[k] == tensor) return static_cast<int>(k);
  }
  return -1;
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
  const auto from_shape = constant_dims(from.dims);
  const auto to_shape = constant_dims(to.dims);
  if (!from_shape || !to_shape || from.type != to.type) return -1;
  if (element_count(*from_shape) != element_count(*to_shape)) return -1;

  // Position in the result and in the operand, both affine in the axes.
  std::vector<int64_t> wanted(stage.axes.size(), 0);
  int64_t stride = 1;
  for (size_t a = stage.axes.size(); a-- > 0;) {
    const Dim& extent = stage.axes[a].extent;
    if (!extent.is_constant()) return -1;  // of no elements: 0 times any size
    wanted[a] = stride;
    stride *= extent.value();
  }
  AffineIndex position;
  position.coefficients.resize(stage.axes.size(), 0);
  const Shape strides = row_major_strides(*from_shape);
  for (size_t d = 0; d < strides.size(); ++d) {
    auto index = affine_index(program, stage, body.indices[d]);
    if (!index || !scale(*index, strides[d])) return -1;
    accumulate(position, *index, 1);
  }
  if (position.constant != 0) return -1;
  for (size_t a = 0; a < wanted.size(); ++a) {
    if (stage.axes[a].extent.value() > 1 && wanted[a] != position.coefficients[a]) return -1;
  }
  return operand_of(program, static_cast<TensorId>(body.integer));
}

int viewed_at_all_sizes(const Program& program) {
  if (!only_moves(program)) return -1;
  const Stage& stage = program.stages[0];
  const Expr& body = program.exprs[static_cast<size_t>(stage.body[0])];
  const TensorDecl& from = program.tensors[static_cast<size_t>(body.integer)];
  const TensorDecl& to = program.tensors[static_cast<size_t>(stage.results[0])];
  if (from.type != to.type || product(from.dims) != product(to.dims)) return -1;
  OpenIndex position{0, Dims(stage.axes.size(), 0)};
  Dim stride = 1;
  for (size_t d = from.dims.size(); d-- > 0;) {
    const auto index = open_index(program, stage, body.indices[d]);
    if (!index) return -1;
    position.constant = position.constant + index->constant * stride;
    for (size_t a = 0; a < position.coefficients.size(); ++a)
      position.coefficients[a] = position.coefficients[a] + index->coefficients[a] * stride;
    stride = stride * from.dims[d];
  }
  if (position.constant != Dim(0)) return -1;
  Dim wanted = 1;
  for (size_t a = stage.axes.size(); a-- > 0;) {
    if (stage.axes[a].extent != Dim(1) && position.coefficients[a] != wanted) return -1;
    wanted = wanted * stage.axes[a].extent;
  }
  return operand_of(program, static_cast<TensorId>(body.integer));
}

}  // namespace axrun::ir
