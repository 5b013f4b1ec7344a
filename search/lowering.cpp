#include "search/lowering.h"

#include <algorithm>

#include "ir/grammar.h"
#include "search/contraction.h"
#include "search/supported.h"

namespace axrun::search {

using ir::Program;
using ir::TensorId;

namespace {

/// One flag per tensor: whether it is the same in every run.
std::vector<bool> constant_tensors(const Program& program, const std::vector<bool>& constant_operands) {
  std::vector<bool> constant(program.tensors.size(), false);
  for (size_t k = 0; k < program.operands.size() && k < constant_operands.size(); ++k) {
    if (program.operands[k] != ir::none)
      constant[static_cast<size_t>(program.operands[k])] = constant_operands[k];
  }
  return constant;
}

}  // namespace

Lowered lower(const Program& expression, const Sizes& sizes, const std::vector<bool>& constant,
              const jit::Target& target) {
  Lowered lowered;
  lowered.reason = unsupported_because(expression, sizes);
  if (!lowered.reason.empty()) return lowered;

  const SizeFacts facts(sizes);
  LoopWriter writer(expression.name, sizes);
  StageValues values(expression, writer);
  const auto declare = [&](TensorId id, ir::loop::Role role) {
    const ir::TensorDecl& tensor = expression.tensors[static_cast<size_t>(id)];
    const int buffer = writer.declare(tensor.name, role, tensor.type, tensor.dims);
    values.read_buffer(id, buffer);
    return buffer;
  };
  for (const TensorId id : expression.operands) {
    if (id != ir::none) declare(id, ir::loop::Role::input);
  }
  std::vector<int> outputs;
  for (const TensorId id : expression.outputs) outputs.push_back(declare(id, ir::loop::Role::output));

  const std::vector<ir::Stage>& stages = expression.stages;
  if (stages.empty() || stages.size() > 2 || outputs.size() != 1) {
    lowered.reason = "not one product and a map";
    return lowered;
  }
  const FoundProduct product = find_product(expression, stages[0], stages.size() == 2 ? &stages[1] : nullptr,
                                            constant_tensors(expression, constant));
  if (!product.found) {
    lowered.reason = product.reason;
    return lowered;
  }
  const ContractionPlan plan = plan_contraction(expression, product.form, facts, target);
  write_contraction(expression, product.form, plan, facts, writer, values, outputs[0]);
  lowered.kind = "contraction";
  lowered.expression = expression;
  lowered.program = writer.finish();
  return lowered;
}

}  // namespace axrun::search
