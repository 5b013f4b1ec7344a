#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/infer.h"
#include "ir/program.h"
#include "runtime/plan/plan.h"

namespace axrun::runtime {

using SizeValues = std::map<std::string, int64_t>;

/// A dim as constant + sum of factors * sizes, to be solved without symbolic arithmetic.
struct LinearDim {
  int64_t constant = 0;
  std::vector<std::pair<int, int64_t>> terms;  ///< size number, factor
};
using LinearDims = std::vector<LinearDim>;

/// What a step computes, as one expression: operand k is the step's input k.
struct StepExpression {
  ir::Program program;
  std::vector<bool> constant;        ///< per operand: the model gives its value
  std::vector<std::string> symbols;  ///< of its dims: "n0", "n1", ... in order of appearance
  std::string text;                  ///< equal for steps that one kernel can serve, but for `constant`
  /// Dims of operands (empty for those it has not) and of outputs, where all of them are linear: otherwise
  /// there is no expression.
  std::vector<LinearDims> operand_dims, output_dims;

  /// What tells its sizes: an operand that it has, or an output.
  struct Port {
    bool is_output;
    size_t index;
  };
  std::vector<Port> ports() const;
  const LinearDims& dims(const Port& port) const {
    return (port.is_output ? output_dims : operand_dims)[port.index];
  }

  /// Of an expression that was read from a cache the program has operands only.
  bool is_whole() const { return !program.stages.empty(); }
  /// The program, made of the text where that is missing. Throws Error where it is none.
  ir::Program whole_program() const;
};

/// What is known of a model's values with its sizes left open: its inputs, and those of bodies, have the dims
/// that the model declares.
class SymbolicFacts {
 public:
  /// Walks the graph and the bodies in it; nodes that cannot be defined leave their results unknown.
  explicit SymbolicFacts(std::shared_ptr<const ir::Graph> graph);
  /// One more graph of the same inputs; nothing where it is known.
  void add(std::shared_ptr<const ir::Graph> graph);
  /// Of a graph that was added: it need not be there any more.
  void forget(const ir::Graph& graph);
  const ir::Inference& inference() const { return inference(*graphs_.front()); }
  /// Of the model's graph, one that was added, or any body in them.
  const ir::Inference& inference(const ir::Graph& graph) const { return known_.at(&graph); }

 private:
  void walk(const ir::Graph& graph, const ir::Inference* enclosing);

  std::vector<std::shared_ptr<const ir::Graph>> graphs_;
  std::map<const ir::Graph*, ir::Inference> known_;
};

/// The expression of a step under these facts; empty, with the reason in words, where some node of it has
/// none.
std::optional<StepExpression> express(const ir::Inference& facts, const Step& step, std::string& reason);

/// The same under what a form says of values: for all sizes that it lets through.
std::optional<StepExpression> express(const PlanForm& form, const Step& step, std::string& reason);

/// The same of a program by itself; constant: per operand.
std::optional<StepExpression> express(ir::Program program, std::vector<bool> constant, std::string& reason);

/// Facts of a plan's values: its shapes.
ir::Inference facts_of(const Plan& plan);

/// The sizes for which operands (per operand; ignored where the expression has none) and outputs have these
/// shapes. Empty where there are none, or the shapes leave a size open.
std::optional<SizeValues> sizes_for(const StepExpression& expression, const std::vector<ir::Shape>& inputs,
                                    const std::vector<ir::Shape>& outputs);
/// outputs: which of the step's ports the expression's outputs are.
std::optional<SizeValues> sizes_for(const StepExpression& expression, const PortSizes& ports,
                                    const std::vector<int>& outputs);

/// Dims of the expression's outputs at these sizes.
std::vector<ir::Shape> output_shapes(const StepExpression& expression, const SizeValues& sizes);
/// Of the expression's symbols.
std::vector<int64_t> in_order(const StepExpression& expression, const SizeValues& sizes);

}  // namespace axrun::runtime
