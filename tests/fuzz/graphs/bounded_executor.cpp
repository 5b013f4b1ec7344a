#include "tests/fuzz/graphs/bounded_executor.h"

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/operator.h"

namespace axrun::tests {

using ir::Tensor;
using runtime::RuntimeValue;

std::vector<RuntimeValue> BoundedExecutor::compute(const ir::Node& node,
                                                   const std::vector<RuntimeValue>& inputs) {
  constexpr int most_nodes = 10'000;
  constexpr int64_t most_elements = 16'384;
  if (++nodes_run_ > most_nodes) throw LargeRun();
  std::vector<Tensor> storage;
  ir::Program program;
  try {
    program = ir::define_node(node, runtime::operands_of(inputs, storage));
  } catch (const ir::NotYetKnown& unknown) {
    throw Error(Fault::unsupported, unknown.what);
  }
  for (const ir::TensorDecl& tensor : program.tensors) {
    const auto shape = ir::constant_dims(tensor.dims);
    if (shape && ir::element_count(*shape) > most_elements) throw LargeRun();
  }
  std::vector<Tensor> operands(program.operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (program.operands[k] != ir::none) operands[k] = inputs[k].tensor;
  }
  std::vector<RuntimeValue> results;
  for (Tensor& tensor : ir::evaluate(program, operands)) results.emplace_back(std::move(tensor));
  return results;
}

}  // namespace axrun::tests
