#include "search/algebra/plain_operators.h"

#include <numeric>

namespace axrun::search::algebra {

const char* operator_of(ir::ScalarOp op) {
  using ir::ScalarOp;
  switch (op) {
    case ScalarOp::add:
      return "Add";
    case ScalarOp::sub:
      return "Sub";
    case ScalarOp::mul:
      return "Mul";
    case ScalarOp::div:
      return "Div";
    case ScalarOp::neg:
      return "Neg";
    case ScalarOp::sqrt:
      return "Sqrt";
    case ScalarOp::exp:
      return "Exp";
    case ScalarOp::log:
      return "Log";
    case ScalarOp::abs:
      return "Abs";
    case ScalarOp::max:
      return "Max";
    case ScalarOp::min:
      return "Min";
    case ScalarOp::tanh:
      return "Tanh";
    case ScalarOp::pow:
      return "Pow";
    default:
      return nullptr;
  }
}

TermId call(Terms& terms, const char* name, const std::vector<TermId>& children) {
  Operation operation;
  operation.name = name;
  operation.version = canonical_version("", name, 17);
  return terms.make(terms.operation(operation), {}, children);
}

TermId reduce(Terms& terms, const char* name, TermId x, const std::vector<int64_t>& axes) {
  Operation operation;
  operation.name = name;
  // Later ones have their axes as an operand.
  operation.version = operation.name == "ReduceSum" ? 11 : canonical_version("", name, 17);
  ir::Attribute& list = operation.attributes["axes"];
  list.kind = ir::Attribute::Kind::integers;
  list.integers = axes;
  ir::Attribute& keep = operation.attributes["keepdims"];
  keep.kind = ir::Attribute::Kind::integer;
  keep.integer = 1;
  return terms.make(terms.operation(operation), {}, {x});
}

TermId count_of(Terms& terms, const ir::Dims& sizes) {
  const ir::Dim count = ir::product(sizes);
  if (const auto known = count.constant())
    return terms.literal(ir::ElementType::f32, static_cast<double>(*known), {});
  ir::Dims open;
  for (const ir::Dim& size : sizes)
    if (size != ir::Dim(1)) open.push_back(size);
  std::vector<int64_t> axes(open.size());
  std::iota(axes.begin(), axes.end(), 0);
  const TermId ones = terms.expand(terms.literal(ir::ElementType::f32, 1, {1}), open);
  return ones == no_term ? no_term : reduce(terms, "ReduceSum", ones, axes);
}

}  // namespace axrun::search::algebra
