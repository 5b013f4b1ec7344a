#include "ir/known_scalars.h"

#include <map>
#include <optional>
#include <set>

#include "ir/compose.h"

namespace axrun::ir {
namespace {

/// Tensors that stages read otherwise than by loads of their bodies.
std::set<TensorId> read_whole(const Program& program) {
  std::set<TensorId> tensors(program.outputs.begin(), program.outputs.end());
  for (const Stage& stage : program.stages) {
    for (const auto* list : {&stage.captures, &stage.initial, &stage.arguments}) {
      tensors.insert(list->begin(), list->end());
    }
    tensors.insert(stage.base);
  }
  return tensors;
}

/// One element, or a vector of integers that are all equal.
bool is_single(const Tensor& value) {
  if (value.size() == 1) return true;
  if (!is_integer(value.type()) || value.shape().size() != 1 || value.size() == 0) return false;
  for (int64_t k = 1; k < value.size(); ++k) {
    if (value.get_int(k) != value.get_int(0)) return false;
  }
  return true;
}

std::optional<Expr> literal_of(const Tensor& value, ElementType type) {
  Expr literal;
  literal.type = type;
  if (is_float(type)) {
    literal.op = ScalarOp::real;
    literal.real = value.get_real(0);
  } else if (is_integer(type) || type == ElementType::boolean) {
    literal.op = ScalarOp::integer;
    literal.integer = value.get_int(0);
  } else {
    return std::nullopt;
  }
  return literal;
}

}  // namespace

Program with_known_scalars(const Program& program, const std::vector<const Tensor*>& values) {
  const std::set<TensorId> whole = read_whole(program);
  std::map<TensorId, Expr> literals;
  for (size_t k = 0; k < program.operands.size() && k < values.size(); ++k) {
    const TensorId id = program.operands[k];
    if (id == none || values[k] == nullptr || whole.count(id) != 0) continue;
    const TensorDecl& tensor = program.tensors[static_cast<size_t>(id)];
    if (values[k]->type() != tensor.type || product(tensor.dims) != Dim(values[k]->size())) continue;
    if (!is_single(*values[k])) continue;
    if (const auto literal = literal_of(*values[k], tensor.type)) literals[id] = *literal;
  }
  Program result = program;
  for (Expr& expr : result.exprs) {
    if (expr.op != ScalarOp::load || expr.args[0] != none) continue;
    const auto literal = literals.find(static_cast<TensorId>(expr.integer));
    if (literal != literals.end()) expr = literal->second;
  }
  return without_dead_stages(result);  // drops the operands that nothing reads any more
}

Program with_known_sizes(const Program& program, const std::map<std::string, Dim>& sizes) {
  Program result = program;
  for (TensorDecl& tensor : result.tensors) {
    for (Dim& dim : tensor.dims) dim = dim.substitute(sizes);
  }
  for (Expr& expr : result.exprs) {
    expr.dim = expr.dim.substitute(sizes);
    if (expr.op != ScalarOp::extent || !expr.dim.is_constant()) continue;
    const int64_t value = expr.dim.value();
    expr = {};
    expr.op = ScalarOp::integer;
    expr.type = ElementType::i64;
    expr.integer = value;
  }
  for (Stage& stage : result.stages) {
    for (auto* axes : {&stage.axes, &stage.reduce_axes}) {
      for (Axis& axis : *axes) axis.extent = axis.extent.substitute(sizes);
    }
    stage.length = stage.length.substitute(sizes);
    if (stage.step) stage.step = std::make_shared<const Program>(with_known_sizes(*stage.step, sizes));
  }
  return result;
}

}  // namespace axrun::ir
