#include "ir/evaluate.h"

#include "ir/interpreter/runner.h"

namespace axrun::ir {

std::vector<Tensor> evaluate(const Program& program, const std::vector<Tensor>& operands,
                             const EvaluateOptions& options) {
  return interpreter::ProgramRunner(program, options).run(operands, 0);
}

}  // namespace axrun::ir
