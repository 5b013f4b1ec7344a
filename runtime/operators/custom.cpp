// Operators of the user's own: their kernels, on the plan's memory.
#include <fmt/format.h>

#include <algorithm>

#include "ir/custom_operator.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {
namespace {

/// One input of the user's kernel, as the plan has it.
struct Argument {
  bool present = false;
  size_t input = 0;  ///< of the step
};

class CustomStep final : public Kernel {
 public:
  CustomStep(const StepContext& context, std::shared_ptr<const ir::CustomKernel> kernel,
             std::vector<Argument> arguments)
      : name_(context.node.op),
        kernel_(std::move(kernel)),
        arguments_(std::move(arguments)),
        inputs_(context.inputs) {
    const ir::Program& program = *context.programs[0];
    for (size_t k = 0; k < program.outputs.size(); ++k) {
      const ir::TensorDecl& decl = program.tensors[static_cast<size_t>(program.outputs[k])];
      results_.push_back({decl.type, decl.dims, context.has_output(k), {}});
      shapes_.push_back(*ir::constant_dims(decl.dims));
    }
  }

  void run(const KernelCall& call) const override {
    std::vector<ir::Tensor> inputs(arguments_.size());
    for (size_t k = 0; k < inputs.size(); ++k) {
      if (!arguments_[k].present) continue;
      const size_t from = arguments_[k].input;
      inputs[k] =
          ir::Tensor::borrow(inputs_[from].type, inputs_[from].shape, const_cast<void*>(call.inputs[from]));
    }
    std::vector<ir::CustomResult> results = results_;
    for (size_t k = 0; k < results.size(); ++k) {
      if (results[k].wanted)
        results[k].tensor = ir::Tensor::borrow(results[k].type, shapes_[k], call.outputs[k]);
    }
    kernel_->run(inputs, results, [&](int64_t count, const std::function<void(int64_t, int64_t)>& body) {
      call.pool.parallel_for(count, 1, [&](int64_t begin, int64_t end) { body(begin, end); });
    });
  }

  std::string describe() const override { return fmt::format("custom kernel of {}", name_); }

 private:
  std::string name_;
  std::shared_ptr<const ir::CustomKernel> kernel_;
  std::vector<Argument> arguments_;
  std::vector<StepPort> inputs_;
  std::vector<ir::CustomResult> results_;  ///< without tensors
  std::vector<ir::Shape> shapes_;
};

/// The program's only stage, if it is a kernel whose results are the node's outputs.
const ir::Stage* only_stage(const ir::Program& program) {
  if (program.stages.size() != 1 || program.stages[0].kind != ir::StageKind::opaque) return nullptr;
  const ir::Stage& stage = program.stages[0];
  return stage.results == program.outputs ? &stage : nullptr;
}

bool has_kernel_stage(const ir::Program& program) {
  return std::any_of(program.stages.begin(), program.stages.end(),
                     [](const ir::Stage& stage) { return stage.kind == ir::StageKind::opaque; });
}

}  // namespace

std::unique_ptr<Kernel> make_custom_kernel(const StepContext& context) {
  const ir::Program& program = *context.programs[0];
  std::vector<Argument> arguments;
  if (const ir::Stage* stage = only_stage(program)) {
    for (const ir::TensorId id : stage->arguments) {
      const auto operand = std::find(program.operands.begin(), program.operands.end(), id);
      const bool present = id != ir::none && operand != program.operands.end();
      arguments.push_back({present, static_cast<size_t>(operand - program.operands.begin())});
    }
    const auto* payload = static_cast<const ir::CustomStage*>(stage->payload.get());
    return std::make_unique<CustomStep>(context, payload->kernel, std::move(arguments));
  }
  if (has_kernel_stage(program)) return nullptr;  // the interpreter calls the kernel between its stages
  std::shared_ptr<const ir::CustomKernel> whole = context.node.custom->whole_kernel(context.node);
  if (whole == nullptr) return nullptr;
  for (size_t k = 0; k < program.operands.size(); ++k)
    arguments.push_back({program.operands[k] != ir::none, k});
  return std::make_unique<CustomStep>(context, std::move(whole), std::move(arguments));
}

}  // namespace axrun::runtime
