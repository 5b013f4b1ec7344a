#pragma once

#include <map>
#include <vector>

#include "ir/operation_count.h"
#include "runtime/node_executor.h"
#include "runtime/plan/packed.h"

namespace axrun::perf {

/// Which values of a graph and of the bodies inside it are the same in every run: constants, and what is
/// computed from nothing else.
class KnownValues {
 public:
  explicit KnownValues(const ir::Graph& graph);
  /// One entry per input of a node of the graph or of a body; absent inputs count as known.
  const std::vector<bool>& inputs_of(const ir::Node& node) const { return inputs_.at(&node); }

 private:
  void walk(const ir::Graph& graph, const std::vector<bool>& known_captures);
  std::map<const ir::Node*, std::vector<bool>> inputs_;
};

/// Runs a graph node by node, every iteration of its loops, and adds up what the nodes compute and read under
/// the shapes that they meet. Nodes run on kernels of their own, since the interpreter would take minutes.
class CountingExecutor final : public runtime::NodeExecutor {
 public:
  /// The graph must be the one that is run, and outlive the executor.
  CountingExecutor(const ir::Graph& graph, runtime::ThreadPool& pool);

  const ir::OperationCount& operations() const { return operations_; }
  /// Floating and integer operations by operator.
  const std::map<std::string, double>& operators() const { return operators_; }
  /// Bytes of the weights' elements that were read, each once.
  double weight_bytes() const;

 protected:
  std::vector<runtime::RuntimeValue> compute(const ir::Node& node,
                                             const std::vector<runtime::RuntimeValue>& inputs) override;

 private:
  struct Weight {
    double elements = 0;
    double element_bytes = 0;
    double read = 0;
  };
  void find_weights(const ir::Graph& graph);
  void count(const ir::Node& node, const ir::Program& program,
             const std::vector<runtime::RuntimeValue>& inputs);

  KnownValues known_;
  runtime::PackCache packs_;
  std::map<const void*, Weight> weights_;  ///< by the address of the elements
  ir::OperationCount operations_;
  std::map<std::string, double> operators_;
};

}  // namespace axrun::perf
