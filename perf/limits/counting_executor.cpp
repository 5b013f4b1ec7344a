#include "perf/limits/counting_executor.h"

#include <algorithm>

#include "ir/elements_read.h"
#include "ir/error.h"
#include "ir/evaluate.h"
#include "runtime/plan/kernel.h"

namespace axrun::perf {

using runtime::RuntimeValue;

KnownValues::KnownValues(const ir::Graph& graph) {
  walk(graph, std::vector<bool>(graph.captures.size(), false));
}

void KnownValues::walk(const ir::Graph& graph, const std::vector<bool>& known_captures) {
  std::vector<bool> known(graph.values.size());
  for (size_t id = 0; id < known.size(); ++id) known[id] = graph.values[id].constant.defined();
  for (size_t k = 0; k < graph.captures.size(); ++k) {
    if (known_captures[k]) known[static_cast<size_t>(graph.captures[k].second)] = true;
  }
  for (const ir::Node& node : graph.nodes) {
    std::vector<bool>& inputs = inputs_[&node];
    for (ir::ValueId id : node.inputs) inputs.push_back(id == ir::absent || known[static_cast<size_t>(id)]);
    for (const ir::Graph* body : ir::bodies_of(node)) {
      std::vector<bool> captures;
      for (const auto& capture : body->captures)
        captures.push_back(known[static_cast<size_t>(capture.first)]);
      walk(*body, captures);
    }
    const bool computed_before = !ir::is_graph_operator(node.domain, node.op) && !node.inputs.empty() &&
                                 std::all_of(inputs.begin(), inputs.end(), [](bool input) { return input; });
    for (ir::ValueId id : node.outputs) {
      if (id != ir::absent && computed_before) known[static_cast<size_t>(id)] = true;
    }
  }
}

namespace {

bool has_constant_dims(const ir::TensorDecl& tensor) { return ir::constant_dims(tensor.dims).has_value(); }

/// Strings, and results whose shape only their computation tells, are left to the interpreter.
bool suits_a_kernel(const ir::Program& program) {
  const auto suits = [&](ir::TensorId id) {
    if (id == ir::none) return true;
    const ir::TensorDecl& tensor = program.tensors[static_cast<size_t>(id)];
    return tensor.type != ir::ElementType::string && has_constant_dims(tensor);
  };
  return std::all_of(program.operands.begin(), program.operands.end(), suits) &&
         std::all_of(program.outputs.begin(), program.outputs.end(), suits);
}

std::vector<RuntimeValue> interpret(const ir::Program& program, const std::vector<RuntimeValue>& inputs) {
  std::vector<ir::Tensor> operands(program.operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (program.operands[k] != ir::none) operands[k] = inputs[k].tensor;
  }
  std::vector<RuntimeValue> outputs;
  for (ir::Tensor& result : ir::evaluate(program, operands)) outputs.emplace_back(std::move(result));
  return outputs;
}

runtime::StepPort port_of(const ir::Tensor& tensor) {
  runtime::StepPort port;
  port.present = tensor.defined();
  port.type = tensor.type();
  port.shape = tensor.shape();
  return port;
}

/// Runs the node on a kernel made for this one call: every input is a known constant to it.
std::vector<RuntimeValue> run_kernel(const ir::Node& node, const ir::Program& program,
                                     const std::vector<RuntimeValue>& inputs, runtime::PackCache& packs,
                                     runtime::ThreadPool& pool) {
  std::vector<RuntimeValue> outputs;
  runtime::StepContext context{node,         {&node}, {&program},     node.inputs, {},
                               node.outputs, {},      pool.threads(), packs};
  std::vector<const void*> sources;
  std::vector<void*> targets;
  for (const RuntimeValue& input : inputs) {
    context.inputs.push_back(port_of(input.tensor));
    if (input.tensor.defined()) context.inputs.back().constant = &input.tensor;
    sources.push_back(input.tensor.defined() ? input.tensor.data() : nullptr);
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    ir::Tensor result;
    const ir::TensorId id = k < program.outputs.size() ? program.outputs[k] : ir::none;
    if (id != ir::none && node.outputs[k] != ir::absent) {
      const ir::TensorDecl& tensor = program.tensors[static_cast<size_t>(id)];
      result = ir::Tensor::allocate_uninitialized(tensor.type, *ir::constant_dims(tensor.dims));
    }
    context.outputs.push_back(port_of(result));
    targets.push_back(result.defined() ? result.data() : nullptr);
    outputs.emplace_back(std::move(result));
  }
  const std::unique_ptr<runtime::Kernel> kernel = runtime::make_kernel(context);
  const runtime::AlignedBuffer scratch(kernel->scratch_bytes());
  kernel->run({sources.data(), targets.data(), const_cast<void*>(scratch.data()), pool});
  return outputs;
}

}  // namespace

CountingExecutor::CountingExecutor(const ir::Graph& graph, runtime::ThreadPool& pool)
    : NodeExecutor(pool), known_(graph) {
  find_weights(graph);
}

void CountingExecutor::find_weights(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values) {
    const ir::Tensor& constant = value.constant;
    if (!constant.defined() || constant.size() == 0 || constant.type() == ir::ElementType::string) continue;
    weights_[constant.data()] = {static_cast<double>(constant.size()), ir::bits_of(constant.type()) / 8.0, 0};
  }
  for (const ir::Node& node : graph.nodes) {
    for (const ir::Graph* body : ir::bodies_of(node)) find_weights(*body);
  }
}

void CountingExecutor::count(const ir::Node& node, const ir::Program& program,
                             const std::vector<RuntimeValue>& inputs) {
  const ir::OperationCount found = ir::count_operations(program, known_.inputs_of(node));
  operations_ += found;
  if (found.floating() + found.integer() > 0) operators_[node.op] += found.floating() + found.integer();
  const std::vector<double> elements = ir::elements_read(program);
  for (size_t k = 0; k < elements.size() && k < inputs.size(); ++k) {
    if (!inputs[k].tensor.defined()) continue;
    const auto weight = weights_.find(inputs[k].tensor.data());
    if (weight != weights_.end()) weight->second.read += elements[k];
  }
}

double CountingExecutor::weight_bytes() const {
  double bytes = 0;
  for (const auto& [address, weight] : weights_) {
    bytes += std::min(weight.read, weight.elements) * weight.element_bytes;
  }
  return bytes;
}

std::vector<RuntimeValue> CountingExecutor::compute(const ir::Node& node,
                                                    const std::vector<RuntimeValue>& inputs) {
  std::vector<ir::Tensor> storage;
  ir::Program program;
  try {
    program = ir::define_node(node, runtime::operands_of(inputs, storage));
  } catch (const ir::NotYetKnown& unknown) {
    throw Error(Fault::unsupported, node.op + " '" + node.name + "': " + unknown.what + " is not known");
  }
  count(node, program, inputs);
  if (!suits_a_kernel(program)) return interpret(program, inputs);
  return run_kernel(node, program, inputs, packs_, pool());
}

}  // namespace axrun::perf
