#include "runtime/plan/fold_weights.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ir/error.h"
#include "ir/infer.h"
#include "ir/operator.h"
#include "ir/simplify.h"
#include "runtime/plan/kernel.h"

namespace axrun::runtime {
namespace {

using ir::Tensor;

StepPort port_of(const ir::ValueFact& fact) {
  StepPort port;
  port.present = true;
  port.type = fact.type;
  port.shape = *ir::constant_dims(*fact.dims);
  if (fact.constant.defined()) port.constant = &fact.constant;
  return port;
}

/// Whether the node works on constants alone and its results are plain tensors of a known, modest size.
bool is_foldable(const ir::Node& node, const ir::Inference& inference, const FoldLimits& limits) {
  size_t operand_bytes = 0, result_bytes = 0;
  for (ir::ValueId id : node.inputs) {
    if (id == ir::absent) continue;
    const Tensor& constant = inference.fact(id).constant;
    if (!constant.defined() || constant.type() == ir::ElementType::string) return false;
    operand_bytes += constant.bytes();
  }
  for (ir::ValueId id : node.outputs) {
    if (id == ir::absent) continue;
    const ir::ValueFact& fact = inference.fact(id);
    const auto shape = fact.dims ? ir::constant_dims(*fact.dims) : std::nullopt;
    if (!shape || ir::size_of(fact.type) == 0) return false;
    result_bytes += static_cast<size_t>(ir::element_count(*shape)) * ir::size_of(fact.type);
  }
  return operand_bytes > 0 && result_bytes <= limits.growth * operand_bytes && result_bytes <= limits.bytes;
}

/// The node's results by the first kernel that takes it; empty when none does.
std::vector<Tensor> execute(const ir::Node& node, const ir::Program& program, const ir::Inference& inference,
                            ThreadPool& pool) {
  PackCache packs;
  StepContext context{node, {&node}, {&program}, node.inputs, {}, node.outputs, {}, pool.threads(), packs};
  for (ir::ValueId id : node.inputs) {
    context.inputs.push_back(id == ir::absent ? StepPort() : port_of(inference.fact(id)));
  }
  for (ir::ValueId id : node.outputs) {
    context.outputs.push_back(id == ir::absent ? StepPort() : port_of(inference.fact(id)));
  }
  for (KernelFactory factory : factories_for(node.domain, node.op)) {
    const auto kernel = factory(context);
    if (kernel == nullptr) continue;
    std::vector<const void*> inputs;
    for (const StepPort& port : context.inputs)
      inputs.push_back(port.present ? port.constant->data() : nullptr);
    std::vector<Tensor> results;
    std::vector<void*> outputs;
    for (const StepPort& port : context.outputs) {
      results.push_back(port.present ? Tensor::allocate_uninitialized(port.type, port.shape) : Tensor());
      outputs.push_back(results.back().data());
    }
    AlignedBuffer scratch(kernel->scratch_bytes());
    kernel->run({inputs.data(), outputs.data(), scratch.data(), pool});
    return results;
  }
  return {};
}

/// Nodes whose results are constants stay for what reads these in the run only.
void drop_unread_weights(const ir::Graph& graph, std::vector<ir::Node>& nodes) {
  std::vector<bool> read(graph.values.size(), false);
  for (const ir::Node& node : nodes) {
    for (const ir::ValueId id : ir::reads_of(node)) read[static_cast<size_t>(id)] = true;
  }
  std::erase_if(nodes, [&](const ir::Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ir::ValueId id) {
      return id == ir::absent || (graph.value(id).constant.defined() && !read[static_cast<size_t>(id)]);
    });
  });
}

/// Of what the graph computed, not of what the model says: its file has it anyway.
void release_unread(ir::Graph& graph, const std::vector<FoldedNode>& folded) {
  std::vector<bool> read(graph.values.size(), false);
  for (const ir::Node& node : graph.nodes) {
    for (const ir::ValueId id : ir::reads_of(node)) read[static_cast<size_t>(id)] = true;
    for (const ir::ValueId id : node.outputs) {
      if (id != ir::absent) read[static_cast<size_t>(id)] = true;  // the node stays because it is there
    }
  }
  for (const ir::ValueId id : graph.outputs) read[static_cast<size_t>(id)] = true;
  for (const FoldedNode& one : folded) {
    for (const auto& ids : {one.node.inputs, one.node.outputs}) {
      for (const ir::ValueId id : ids) {
        if (id != ir::absent && !read[static_cast<size_t>(id)]) graph.value(id).constant = Tensor();
      }
    }
  }
}

}  // namespace

std::vector<FoldedNode> fold_weights(ir::Graph& graph, ThreadPool& pool, const FoldLimits& limits) {
  ir::Inference::Options options;
  options.fold = false;
  ir::Inference inference(graph, options);
  std::vector<FoldedNode> folded, in_bodies;
  std::vector<ir::Node> kept;
  kept.reserve(graph.nodes.size());
  for (ir::Node& node : graph.nodes) {
    for (ir::Graph* body : ir::bodies_of(node)) {
      for (FoldedNode& one : fold_weights(*body, pool, limits)) in_bodies.push_back(std::move(one));
    }
    // Constants come of constants only: whatever else a node may give is not asked for.
    const bool has_constants = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::ValueId id) {
      return id == ir::absent || inference.is_constant(id);
    });
    const auto program = has_constants ? inference.define(node) : nullptr;
    if (!program) {
      kept.push_back(std::move(node));
      continue;
    }
    inference.conclude(node, *program);
    if (ir::widens_weights(node, inference)) {
      kept.push_back(std::move(node));
      continue;
    }
    std::vector<Tensor> results;
    if (is_foldable(node, inference, limits)) {
      try {
        results = execute(node, *program, inference, pool);
      } catch (const Error&) {
        results.clear();  // bad data is an error where the node is executed, which may be never
      }
    }
    if (results.empty()) {
      kept.push_back(std::move(node));
      continue;
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == ir::absent) continue;
      inference.fact(node.outputs[k]).constant = results[k];
      graph.value(node.outputs[k]).constant = results[k];
    }
    FoldedNode done{node, program, {}, std::move(results)};
    for (const ir::ValueId id : node.inputs)
      done.inputs.push_back(id == ir::absent ? Tensor() : inference.fact(id).constant);
    folded.push_back(std::move(done));
    if (ir::widens_weights(node, inference)) kept.push_back(std::move(node));
  }
  drop_unread_weights(graph, kept);
  graph.nodes = std::move(kept);
  release_unread(graph, folded);
  std::move(in_bodies.begin(), in_bodies.end(), std::back_inserter(folded));
  return folded;
}

}  // namespace axrun::runtime
