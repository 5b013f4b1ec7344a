#include "runtime/node_executor.h"

#include <fmt/format.h>

#include <chrono>

#include "ir/error_place.h"
#include "ir/evaluate.h"
#include "runtime/control/graph_operators.h"
#include "runtime/run_control.h"

namespace axrun::runtime {
namespace {

/// For each node, the values nobody reads after it.
std::vector<std::vector<ir::ValueId>> last_uses(const ir::Graph& graph) {
  std::vector<int> last(graph.values.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (ir::ValueId id : ir::reads_of(graph.nodes[n])) last[static_cast<size_t>(id)] = static_cast<int>(n);
    for (ir::ValueId id : graph.nodes[n].outputs) {
      if (id != ir::absent && last[static_cast<size_t>(id)] < 0)
        last[static_cast<size_t>(id)] = static_cast<int>(n);
    }
  }
  for (ir::ValueId id : graph.outputs) last[static_cast<size_t>(id)] = -1;
  std::vector<std::vector<ir::ValueId>> ends(graph.nodes.size());
  for (size_t id = 0; id < last.size(); ++id) {
    if (last[id] >= 0) ends[static_cast<size_t>(last[id])].push_back(static_cast<ir::ValueId>(id));
  }
  return ends;
}

std::vector<RuntimeValue> pick(const std::vector<RuntimeValue>& environment,
                               const std::vector<ir::ValueId>& ids) {
  std::vector<RuntimeValue> values(ids.size());
  for (size_t k = 0; k < ids.size(); ++k) {
    if (ids[k] != ir::absent) values[k] = environment[static_cast<size_t>(ids[k])];
  }
  return values;
}

/// Errors from data name the node that met them.
[[noreturn]] void rethrow_at(const ir::Node& node, const Error& error) {
  const std::string place = fmt::format("{} '{}'", node.op, node.name);
  const std::string text = error.what();
  throw_as(error, text.find(place) != std::string::npos ? text : fmt::format("{}: {}", place, text),
           ErrorPlace::of_node(node.name, node.op));
}

}  // namespace

std::vector<RuntimeValue> NodeExecutor::run(const ir::Graph& graph, const std::vector<RuntimeValue>& inputs,
                                            const std::vector<RuntimeValue>& captures) {
  AXRUN_ASSERT(inputs.size() == graph.inputs.size() && captures.size() == graph.captures.size());
  std::vector<RuntimeValue> environment(graph.values.size());
  for (size_t id = 0; id < graph.values.size(); ++id) {
    if (graph.values[id].constant.defined()) environment[id] = RuntimeValue(graph.values[id].constant);
  }
  for (size_t k = 0; k < inputs.size(); ++k) environment[static_cast<size_t>(graph.inputs[k])] = inputs[k];
  for (size_t k = 0; k < captures.size(); ++k) {
    environment[static_cast<size_t>(graph.captures[k].second)] = captures[k];
  }
  const auto ends = last_uses(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    const auto start = std::chrono::steady_clock::now();
    std::vector<RuntimeValue> outputs;
    try {
      outputs = run_node(node, pick(environment, node.inputs), environment);
    } catch (const RunEnded&) {
      throw;
    } catch (const Error& error) {
      rethrow_at(node, error);
    }
    if (observer_) {
      const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
      observer_(graph, node, outputs, elapsed.count());
    }
    for (size_t k = 0; k < node.outputs.size() && k < outputs.size(); ++k) {
      if (node.outputs[k] != ir::absent)
        environment[static_cast<size_t>(node.outputs[k])] = std::move(outputs[k]);
    }
    for (ir::ValueId id : ends[n]) environment[static_cast<size_t>(id)] = RuntimeValue();
  }
  return pick(environment, graph.outputs);
}

std::vector<RuntimeValue> NodeExecutor::run_node(const ir::Node& node,
                                                 const std::vector<RuntimeValue>& inputs,
                                                 const std::vector<RuntimeValue>& environment) {
  if (ir::is_graph_operator(node.domain, node.op)) {
    return run_graph_operator(node, inputs,
                              [&](const ir::Graph& body, const std::vector<RuntimeValue>& body_inputs,
                                  std::vector<RuntimeValue>& body_outputs) {
                                std::vector<RuntimeValue> captures;
                                captures.reserve(body.captures.size());
                                for (const auto& [outer, inner] : body.captures) {
                                  captures.push_back(environment[static_cast<size_t>(outer)]);
                                }
                                body_outputs = run(body, body_inputs, captures);
                              });
  }
  // Identity and its like forward containers, which have no expression.
  if (node.op == "Identity" && !inputs.empty() && inputs[0].kind != ir::ValueKind::tensor) return {inputs[0]};
  for (const RuntimeValue& input : inputs) {
    if (input.kind != ir::ValueKind::tensor) {
      throw PlacedError(Fault::user, fmt::format("{} '{}': an input is not a tensor", node.op, node.name),
                        ErrorPlace::of_node(node.name, node.op));
    }
  }
  return compute(node, inputs);
}

std::vector<ir::OperandInfo> operands_of(const std::vector<RuntimeValue>& inputs,
                                         std::vector<ir::Tensor>& storage) {
  constexpr int64_t narrow_limit = 4096;
  std::vector<ir::OperandInfo> operands(inputs.size());
  storage.clear();
  storage.reserve(inputs.size());
  for (size_t k = 0; k < inputs.size(); ++k) {
    const RuntimeValue& input = inputs[k];
    if (!input.tensor.defined()) continue;
    operands[k].present = true;
    operands[k].type = input.type;
    operands[k].dims = ir::to_dims(input.tensor.shape());
    if (input.tensor.type() == input.type) {
      storage.push_back(input.tensor);
    } else if (input.tensor.size() <= narrow_limit) {
      storage.push_back(input.tensor.converted(input.type));
    } else {
      continue;  // No definition reads the values of long float inputs.
    }
    operands[k].constant = &storage.back();
  }
  return operands;
}

std::vector<RuntimeValue> ReferenceExecutor::compute(const ir::Node& node,
                                                     const std::vector<RuntimeValue>& inputs) {
  std::vector<ir::Tensor> storage;
  ir::Program program;
  try {
    program = ir::define_node(node, operands_of(inputs, storage));
  } catch (const ir::NotYetKnown& unknown) {
    throw Error(Fault::unsupported,
                fmt::format("{} '{}': {} is not known even at run time", node.op, node.name, unknown.what));
  }
  std::vector<ir::Tensor> operands(program.operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (program.operands[k] != ir::none) operands[k] = inputs[k].tensor;
  }
  ir::EvaluateOptions options;
  options.parallel_for = [this](int64_t count, const std::function<void(int64_t, int64_t)>& body) {
    pool().parallel_for(count, 1, [&](int64_t begin, int64_t end) { body(begin, end); });
  };
  std::vector<ir::Tensor> results = ir::evaluate(program, operands, options);
  std::vector<RuntimeValue> outputs;
  for (size_t k = 0; k < results.size(); ++k) {
    const ir::TensorId id = program.outputs[k];
    outputs.emplace_back(std::move(results[k]), id == ir::none
                                                    ? ir::ElementType::undefined
                                                    : program.tensors[static_cast<size_t>(id)].type);
  }
  return outputs;
}

}  // namespace axrun::runtime
