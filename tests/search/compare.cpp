#include <algorithm>
#include <cmath>
#include <random>

#include "ir/evaluate.h"
#include "ir/loop/interpreter.h"
#include "tests/search/cases.h"
#include "verify/gate_inputs.h"

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
/// Indices lead inside of a dimension of `limit` elements (0: no index), from either end.
Tensor data(ir::ElementType type, const ir::Shape& shape, int64_t limit, std::mt19937& random) {
  Tensor tensor = Tensor::allocate(type, shape);
  const int least = limit == 0 ? -6 : static_cast<int>(-limit),
            most = limit == 0 ? 6 : static_cast<int>(limit - 1);
  std::uniform_int_distribution<int> number(type == ir::ElementType::boolean ? 0 : least,
                                            type == ir::ElementType::boolean ? 1 : most);
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
  return std::all_of(expression.stages.begin(), expression.stages.end(),
                     [](const ir::Stage& stage) { return !stage.step || is_exact(*stage.step); });
}

/// What is wrong with `got`, given what is wanted up to dims.
std::string compare(const std::string& what, const std::vector<Tensor>& wanted,
                    const std::vector<Tensor>& got, double room_per_unit) {
  if (got.size() != wanted.size()) return what + ": another number of outputs";
  for (size_t k = 0; k < wanted.size(); ++k) {
    if (got[k].size() != wanted[k].size()) return what + ": another number of elements";
    for (int64_t i = 0; i < wanted[k].size(); ++i) {
      const double want = wanted[k].get_real(i), is = got[k].get_real(i);
      const double room = room_per_unit * std::max(1.0, std::abs(want));
      if (want == is || std::abs(want - is) <= room || (std::isnan(want) && std::isnan(is))) continue;
      return what + ": output " + std::to_string(k) + " element " + std::to_string(i) + " is " +
             std::to_string(is) + " instead of " + std::to_string(want);
    }
  }
  return {};
}

}  // namespace

std::string difference(const ir::Program& expression, const search::Lowered& lowered, const SizeValues& sizes,
                       unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> operands, simplified, inputs;
  const auto plans = verify::plan_operands(expression, sizes);
  size_t present = 0;
  for (size_t k = 0; k < expression.operands.size(); ++k) {
    operands.emplace_back();
    simplified.emplace_back();
    if (expression.operands[k] == ir::none) continue;
    const ir::TensorDecl& tensor = expression.tensors[static_cast<size_t>(expression.operands[k])];
    operands.back() = data(tensor.type, shape_at(tensor.dims, sizes), plans[present++].limit, random);
    const ir::TensorId id = lowered.expression.operands[k];
    if (id == ir::none) continue;
    const ir::Shape shape = shape_at(lowered.expression.tensors[static_cast<size_t>(id)].dims, sizes);
    simplified.back() = operands.back().reshaped(shape);
    inputs.push_back(simplified.back());
  }
  const std::string at = " with seed " + std::to_string(seed);
  const std::vector<Tensor> wanted = ir::evaluate(expression, operands);
  const double noise = is_exact(expression) ? 0 : 2e-5;
  const std::string step =
      compare("simplified" + at, wanted, ir::evaluate(lowered.expression, simplified), noise / 10);
  if (!step.empty()) return step;
  const ir::loop::Outcome outcome = ir::loop::interpret(*lowered.program, sizes, inputs);
  if (outcome.mistake) return outcome.text + at;
  return compare("lowered" + at, wanted, outcome.outputs, noise);
}

}  // namespace axrun::tests
