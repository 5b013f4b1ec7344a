#include "runtime/plan/kernel.h"

#include <fmt/format.h>

#include <cstring>
#include <map>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/lasting.h"

namespace axrun::runtime {
namespace {

/// The expression itself, evaluated by the reference interpreter: what an operator without a kernel runs on.
class InterpreterKernel final : public Kernel {
 public:
  explicit InterpreterKernel(const StepContext& context) : program_(*context.programs[0]) {
    inputs_ = context.inputs;
    outputs_ = context.outputs;
    for (StepPort& port : inputs_) {
      if (port.constant != nullptr) constants_.push_back(*port.constant);
    }
    op_ = context.node.op;
  }

  void run(const KernelCall& call) const override {
    std::vector<ir::Tensor> operands(program_.operands.size());
    for (size_t k = 0; k < operands.size(); ++k) {
      if (program_.operands[k] == ir::none) continue;
      operands[k] = ir::Tensor::borrow(inputs_[k].type, inputs_[k].shape, const_cast<void*>(call.inputs[k]));
    }
    ir::EvaluateOptions options;
    options.parallel_for = [&](int64_t count, const std::function<void(int64_t, int64_t)>& body) {
      call.pool.parallel_for(count, 1, [&](int64_t begin, int64_t end) { body(begin, end); });
    };
    const std::vector<ir::Tensor> results = ir::evaluate(program_, operands, options);
    for (size_t k = 0; k < outputs_.size() && k < results.size(); ++k) {
      if (!outputs_[k].present) continue;
      AXRUN_ASSERT(results[k].shape() == outputs_[k].shape && results[k].type() == outputs_[k].type);
      if (results[k].bytes() > 0) std::memcpy(call.outputs[k], results[k].data(), results[k].bytes());
    }
  }

  std::string describe() const override { return "interpreter " + op_; }

 private:
  ir::Program program_;
  std::vector<StepPort> inputs_;
  std::vector<StepPort> outputs_;
  std::vector<ir::Tensor> constants_;
  std::string op_;
};

}  // namespace

int64_t StepContext::integer(std::string_view name, int64_t otherwise) const {
  const auto found = node.attributes.find(std::string(name));
  return found == node.attributes.end() ? otherwise : found->second.integer;
}
double StepContext::real(std::string_view name, double otherwise) const {
  const auto found = node.attributes.find(std::string(name));
  return found == node.attributes.end() ? otherwise : found->second.real;
}
std::string StepContext::string(std::string_view name, std::string_view otherwise) const {
  const auto found = node.attributes.find(std::string(name));
  return found == node.attributes.end() ? std::string(otherwise) : found->second.string;
}
std::vector<int64_t> StepContext::integers(std::string_view name) const {
  const auto found = node.attributes.find(std::string(name));
  return found == node.attributes.end() ? std::vector<int64_t>() : found->second.integers;
}
bool StepContext::has_attribute(std::string_view name) const {
  return node.attributes.count(std::string(name)) > 0;
}

const std::vector<FactoryEntry>& all_factories() {
  static const auto& table = lasting([] {
    std::vector<FactoryEntry> rows;
    contraction_factories(rows);
    convolution_factories(rows);
    pooling_factories(rows);
    movement_factories(rows);
    indexing_factories(rows);
    reduction_factories(rows);
    normalization_factories(rows);
    recurrent_factories(rows);
    quantized_factories(rows);
    attention_factories(rows);
    resize_factories(rows);
    fourier_factories(rows);
    tree_factories(rows);
    widening_factories(rows);
    map_factories(rows);
    widened_factories(rows);
    return rows;
  }());
  return table;
}

const std::vector<KernelFactory>& factories_for(std::string_view domain, std::string_view op) {
  using Key = std::pair<std::string_view, std::string_view>;
  static const auto& index = lasting([] {
    std::map<Key, std::vector<KernelFactory>> built;
    for (const FactoryEntry& row : all_factories()) built[{row.domain, row.op}].push_back(row.make);
    // Rows under the name "*" are tried for every operator: they read the expression, not the name.
    const std::vector<KernelFactory> any = built[{"*", "*"}];
    for (auto& [key, factories] : built) {
      if (key != Key("*", "*")) factories.insert(factories.end(), any.begin(), any.end());
    }
    return built;
  }());
  const auto found = index.find({domain, op});
  return found == index.end() ? index.at({"*", "*"}) : found->second;
}

std::unique_ptr<Kernel> make_interpreter_kernel(const StepContext& context) {
  return std::make_unique<InterpreterKernel>(context);
}

std::unique_ptr<Kernel> make_kernel(const StepContext& context) {
  for (KernelFactory factory : factories_for(context.node.domain, context.node.op)) {
    if (auto kernel = factory(context)) return kernel;
  }
  if (context.fused()) return nullptr;
  if (context.node.custom != nullptr) {
    if (auto kernel = make_custom_kernel(context)) return kernel;
  }
  return make_interpreter_kernel(context);
}

}  // namespace axrun::runtime
