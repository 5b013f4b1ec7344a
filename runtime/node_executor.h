#pragma once

#include <functional>
#include <vector>

#include "ir/graph.h"
#include "ir/operator.h"
#include "runtime/parallel.h"
#include "runtime/value.h"

namespace axrun::runtime {

/// Called after each node, bodies included, with its outputs and the time it took.
using NodeObserver = std::function<void(const ir::Graph& graph, const ir::Node& node,
                                        const std::vector<RuntimeValue>& outputs, double microseconds)>;

/// Runs a graph node by node, values and shapes decided as they come: the form of execution that needs no
/// plan. The reference tier is one, and so is what remains when shapes depend on data.
class NodeExecutor {
 public:
  explicit NodeExecutor(ThreadPool& pool) : pool_(pool) {}
  virtual ~NodeExecutor() = default;

  /// inputs belong to graph.inputs, captures to graph.captures. Returns one value per graph output.
  std::vector<RuntimeValue> run(const ir::Graph& graph, const std::vector<RuntimeValue>& inputs,
                                const std::vector<RuntimeValue>& captures);

  void set_observer(NodeObserver observer) { observer_ = std::move(observer); }

 protected:
  /// The outputs of one node that has a tensor expression; absent outputs may be left undefined.
  virtual std::vector<RuntimeValue> compute(const ir::Node& node,
                                            const std::vector<RuntimeValue>& inputs) = 0;
  ThreadPool& pool() { return pool_; }

 private:
  std::vector<RuntimeValue> run_node(const ir::Node& node, const std::vector<RuntimeValue>& inputs,
                                     const std::vector<RuntimeValue>& environment);
  ThreadPool& pool_;
  NodeObserver observer_;
};

/// The slow, trusted twin: every node is its tensor expression, evaluated in float64 and exact integers; what a node
/// hands on is rounded to the type the model gives it.
class ReferenceExecutor final : public NodeExecutor {
 public:
  using NodeExecutor::NodeExecutor;

 protected:
  std::vector<RuntimeValue> compute(const ir::Node& node, const std::vector<RuntimeValue>& inputs) override;
};

/// What a definition gets to know of actual inputs: types, constant dims and values. `storage` keeps the
/// tensors whose values had to be narrowed to the declared type.
std::vector<ir::OperandInfo> operands_of(const std::vector<RuntimeValue>& inputs,
                                         std::vector<ir::Tensor>& storage);

}  // namespace axrun::runtime
