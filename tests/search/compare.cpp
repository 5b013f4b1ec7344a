#include <cmath>
#include <random>

#include "ir/evaluate.h"
#include "ir/loop/interpreter.h"
#include "tests/search/cases.h"

namespace axrun::tests {

using ir::Dim;
using ir::Tensor;

namespace {

ir::Shape shape_at(const ir::Dims& dims, const SizeValues& sizes) {
  std::map<std::string, Dim> values;
  for (const auto& [name, value] : sizes) values[name] = Dim(value);
  ir::Shape shape;
  for (const Dim& dim : dims) shape.push_back(dim.substitute(values).value());
  return shape;
}

/// Small integers, so that sums and products are exact; halves too, so that integers are not taken for
/// granted.
Tensor data(ir::ElementType type, const ir::Shape& shape, std::mt19937& random) {
  Tensor tensor = Tensor::allocate(type, shape);
  std::uniform_int_distribution<int> number(type == ir::ElementType::boolean ? 0 : -6,
                                            type == ir::ElementType::boolean ? 1 : 6);
  for (int64_t k = 0; k < tensor.size(); ++k) {
    if (is_float(type)) {
      tensor.set_real(k, number(random) / 2.0);
    } else {
      tensor.set_int(k, number(random));
    }
  }
  return tensor;
}

bool is_exact(const ir::Program& expression) {
  using ir::ScalarOp;
  for (const ir::Expr& expr : expression.exprs) {
    if (!is_float(expr.type)) continue;
    const bool rounds =
        (expr.op >= ScalarOp::sqrt && expr.op <= ScalarOp::erf) || expr.op == ScalarOp::div ||
        expr.op == ScalarOp::pow ||
        (expr.op == ScalarOp::real && std::abs(expr.real * 64 - std::round(expr.real * 64)) > 0);
    if (rounds) return false;
  }
  return true;
}

}  // namespace

std::string difference(const ir::Program& expression, const search::Lowered& lowered, const SizeValues& sizes,
                       unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> operands, inputs;
  for (const ir::TensorId id : expression.operands) {
    operands.emplace_back();
    if (id == ir::none) continue;
    const ir::TensorDecl& tensor = expression.tensors[static_cast<size_t>(id)];
    operands.back() = data(tensor.type, shape_at(tensor.dims, sizes), random);
    const ir::loop::Buffer& buffer = lowered.program->buffers[inputs.size()];
    inputs.push_back(operands.back().reshaped(shape_at(buffer.dims, sizes)));
  }
  const std::vector<Tensor> wanted = ir::evaluate(expression, operands);
  const ir::loop::Outcome outcome = ir::loop::interpret(*lowered.program, sizes, inputs);
  if (outcome.mistake) return outcome.text;
  if (outcome.outputs.size() != wanted.size()) return "another number of outputs";
  const bool exact = is_exact(expression);
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (outcome.outputs[k].size() != wanted[k].size()) return "another number of elements";
    for (int64_t i = 0; i < wanted[k].size(); ++i) {
      const double want = wanted[k].get_real(i), got = outcome.outputs[k].get_real(i);
      const double room = exact ? 0 : 2e-5 * std::max(1.0, std::abs(want));
      if (!(std::abs(want - got) <= room) && want != got) {
        return "output " + std::to_string(k) + " element " + std::to_string(i) + ": " + std::to_string(got) +
               " for " + std::to_string(want) + " with seed " + std::to_string(seed);
      }
    }
  }
  return {};
}

}  // namespace axrun::tests
