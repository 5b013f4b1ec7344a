#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "ir/operator.h"
#include "ir/program.h"

namespace axrun::ir {

class Definitions;
class SizesAtHand;

/// What is known of one value before the run (or at one point of it).
struct ValueFact {
  ElementType type = ElementType::undefined;
  std::optional<Dims> dims;
  Tensor constant;               ///< defined when the value is known
  std::optional<Dims> elements;  ///< small integer tensors known as expressions of named sizes
};

/// Facts of every value of a graph, found by walking its nodes in order. The graph is not changed, so one
/// graph can be examined under different input shapes at once.
class Inference {
 public:
  struct Options {
    /// Nodes whose operands are all constant are evaluated when their results have at most this many bytes in
    /// all, or no more than the operands.
    int64_t fold_bytes = int64_t{1} << 16;
    bool fold = true;
    Definitions* definitions = nullptr;  ///< asked for programs and their results, where given
    /// Asked what the named sizes of the facts leave open: what is found then holds where the guards noted
    /// there do. Operators that are not known to ask for all they take for granted
    /// (keeps_sizes_open) see numbers in place of names.
    SizesAtHand* sizes = nullptr;
  };

  /// Starts from the graph's own constants and the declared types and dims of its inputs.
  Inference(const Graph& graph, const Options& options);
  /// Starts from these facts, one for each value.
  Inference(const Graph& graph, const Options& options, std::vector<ValueFact> facts);

  const Graph& graph() const { return graph_; }
  ValueFact& fact(ValueId id) { return facts_[static_cast<size_t>(id)]; }
  const ValueFact& fact(ValueId id) const { return facts_[static_cast<size_t>(id)]; }
  const std::vector<ValueFact>& facts() const { return facts_; }
  /// For whoever goes on with them; there are none here afterwards.
  std::vector<ValueFact> take_facts() { return std::move(facts_); }
  bool is_constant(ValueId id) const { return fact(id).constant.defined(); }

  std::vector<OperandInfo> operands_of(const Node& node) const;

  /// The node's program under the facts so far; null while something it depends on is unknown. Throws Error
  /// when the node is invalid. Graph operators have no program.
  std::shared_ptr<const Program> define(const Node& node) const;

  /// Records what the program says of the node's outputs, and evaluates it where its operands are known.
  void conclude(const Node& node, const Program& program);

  /// define and conclude for every node; bodies are not entered.
  void run();

 private:
  /// As define_node; null where that is NotYetKnown.
  std::shared_ptr<const Program> define(const Node& node, const std::vector<OperandInfo>& operands) const;
  std::shared_ptr<const Program> define_with_numbers(const Node& node) const;
  void set_constant(ValueId id, const Tensor& constant);
  bool fold_constants(const Node& node, const Program& program);
  void fold_elements(const Node& node, const Program& program);
  const Graph& graph_;
  Options options_;
  std::vector<ValueFact> facts_;
};

/// What a graph says of its own constants, one fact for each of its values.
std::vector<ValueFact> facts_of_constants(const Graph& graph);

/// Types and dims of the program's outputs.
std::vector<ValueFact> output_facts(const Program& program);

}  // namespace axrun::ir
