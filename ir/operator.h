#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/error.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace axrun::ir {

/// What is known of one input of a node where its operator is being defined.
struct OperandInfo {
  bool present = false;
  ElementType type = ElementType::undefined;
  std::optional<Dims> dims;
  const Tensor* constant = nullptr;  ///< the whole value, where known
  const Dims* elements = nullptr;    ///< small integer tensors: row-major elements as Dims, where known
};

/// Thrown out of a definition that cannot go on before more is known: the value of an input on which an
/// output shape depends, or the order or equality of two symbolic sizes. Not an error: the node is defined
/// again at run time.
struct NotYetKnown {
  std::string what;
};

class SizesAtHand;

/// What a definition looked at besides operator, attributes, wanted results, types and sizes.
struct Consulted {
  uint64_t values = 0;  ///< bit k: the value of operand k; the last bit is that of all further ones
  bool name = false;    ///< of the node
  /// Asked what named sizes leave open; null: that is NotYetKnown.
  SizesAtHand* sizes = nullptr;

  static uint64_t bit(size_t k) { return uint64_t{1} << std::min<size_t>(k, 63); }
  bool asked(size_t k) const { return (values & bit(k)) != 0; }
};

/// The view of a node that definitions get. Accessors that fail throw Error naming operator and node.
class OperatorContext {
 public:
  /// consulted, if any, is told what is looked at; contexts made from this one must be given it as well.
  OperatorContext(const Node& node, std::vector<OperandInfo> operands, Consulted* consulted = nullptr)
      : node_(node), operands_(std::move(operands)), consulted_(consulted) {}

  const Node& node() const { return node_; }  ///< its name: see name()
  const std::string& name() const;            ///< for what shall differ between nodes that are alike
  Consulted* consulted() const { return consulted_; }
  int version() const { return node_.version; }

  // Inputs.
  int inputs() const { return static_cast<int>(operands_.size()); }
  bool has(int k) const { return k < inputs() && operands_[static_cast<size_t>(k)].present; }
  const OperandInfo& operand(int k) const;  ///< with its value, if known; the input must be present
  ElementType type(int k) const;
  const Dims& dims(int k) const;  ///< throws NotYetKnown while the rank is unknown
  int rank(int k) const { return static_cast<int>(dims(k).size()); }
  /// Elements of an integer input as Dims (symbolic where they come from shapes); throws NotYetKnown if
  /// unknown.
  Dims elements(int k) const;
  /// The same, all constant (where sizes are at hand: made so by guards); throws NotYetKnown otherwise.
  std::vector<int64_t> integers(int k) const;
  /// The constant value of an input of any type; throws NotYetKnown if unknown.
  const Tensor& constant(int k) const;

  // Outputs.
  int outputs() const { return static_cast<int>(node_.outputs.size()); }
  bool wants(int k) const { return k < outputs() && node_.outputs[static_cast<size_t>(k)] != absent; }

  // Attributes. A wrong kind throws Error(model).
  bool has_attribute(std::string_view name) const;
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string string(std::string_view name, std::string_view otherwise) const;
  std::vector<int64_t> integers(std::string_view name, const std::vector<int64_t>& otherwise = {}) const;
  std::vector<double> reals(std::string_view name) const;
  std::vector<std::string> strings(std::string_view name) const;
  const Tensor* tensor(std::string_view name) const;  ///< nullptr when absent

  /// Axis in -rank..rank-1 made non-negative; anything else is refused.
  int axis(int64_t value, int rank) const;
  std::vector<int> axes(const std::vector<int64_t>& values,
                        int rank) const;  ///< the same; duplicates are refused

  /// Refuses the model: Error(model) "Op 'name': text".
  [[noreturn]] void fail(const std::string& text) const;
  /// Error(unsupported).
  [[noreturn]] void unsupported(const std::string& text) const;
  void check(bool condition, const std::string& text) const {
    if (!condition) fail(text);
  }

  // Symbolic decisions: true or false when certain, what is so for the sizes at hand, NotYetKnown otherwise.
  bool equal(const Dim& a, const Dim& b) const;
  bool is_one(const Dim& a) const { return equal(a, Dim(1)); }
  bool less(const Dim& a, const Dim& b) const;
  /// False where it is certain that the dim is another number, or so for the sizes at hand; also where nobody
  /// knows.
  bool is(const Dim& dim, int64_t number) const;
  /// True where it is certain, or so for the sizes at hand; also where nobody knows: for checks, which are
  /// made again where the sizes are known.
  bool may_be_at_least(const Dim& a, const Dim& b) const;
  /// NumPy broadcasting of shapes (ONNX, "Broadcasting in ONNX"); refuses shapes that cannot agree.
  Dims broadcast(const std::vector<Dims>& shapes) const;
  /// Whether the one shape broadcasts to the other without making it larger.
  bool broadcasts_to(const Dims& shape, const Dims& whole) const;
  /// A dim only execution can tell (NonZero's count): a symbol named after the node's output.
  Dim unknown_dim(int output, int dimension) const;
  /// The dim's value; one that has names has to have that of the sizes at hand. NotYetKnown otherwise.
  int64_t fixed(const Dim& dim) const;
  /// The same; nothing where nobody knows.
  std::optional<int64_t> number(const Dim& dim) const;

 private:
  SizesAtHand* sizes() const { return consulted_ != nullptr ? consulted_->sizes : nullptr; }
  const Attribute* find(std::string_view name) const;
  const OperandInfo& info(int k) const;  ///< for type and sizes
  const Node& node_;
  std::vector<OperandInfo> operands_;
  Consulted* consulted_ = nullptr;
};

/// Declares input k of the node as operand k of the program, typed and shaped as the context has it.
TensorRef operand(Builder& b, const OperatorContext& context, int k);
/// x read at the indices of a broadcast result of the given dims: leading dims dropped, size-1 dims read at
/// 0.
Scalar broadcast_load(const OperatorContext& context, const TensorRef& x, const Indices& indices,
                      const Dims& result);

/// Builds the program of one node. Its outputs, in order, are the node's outputs (all of them up to the last
/// wanted one). Shapes and types of the outputs are read off the program: there is no separate shape
/// inference.
using Definition = void (*)(const OperatorContext& context, Builder& b);

/// One row of the operator table. `since` is the lowest opset version the definition holds for, up to the
/// next row of the same operator.
struct OperatorEntry {
  std::string_view domain;  ///< "" for ai.onnx
  std::string_view name;
  int since;
  Definition define;
};

/// Of what is made for states (ir/ops/state.cpp).
constexpr std::string_view state_domain = "axrun.state";

/// nullptr when the operator is unknown, or unknown at that version.
const OperatorEntry* find_operator(std::string_view domain, std::string_view name, int version);
/// Every operator, for listings and tests.
std::vector<OperatorEntry> all_operators();

/// Operators that work on graphs or on values that are not tensors: If, Loop, Scan, and those of sequences,
/// optionals and maps. The runtime executes them; they have no program.
bool is_graph_operator(std::string_view domain, std::string_view name);

/// Builds the program of a node; throws Error or NotYetKnown. The node must not be If, Loop or Scan.
/// consulted, if given, is told what the definition looked at.
Program define_node(const Node& node, const std::vector<OperandInfo>& operands,
                    Consulted* consulted = nullptr);

/// Each family's table, one function per file of ir/ops (listed in ir/operator.cpp).
void elementwise_operators(std::vector<OperatorEntry>& table);
void movement_operators(std::vector<OperatorEntry>& table);
void indexing_operators(std::vector<OperatorEntry>& table);
void reduction_operators(std::vector<OperatorEntry>& table);
void normalization_operators(std::vector<OperatorEntry>& table);
void contraction_operators(std::vector<OperatorEntry>& table);
void convolution_operators(std::vector<OperatorEntry>& table);
void pooling_operators(std::vector<OperatorEntry>& table);
void resize_operators(std::vector<OperatorEntry>& table);
void recurrent_operators(std::vector<OperatorEntry>& table);
void quantization_operators(std::vector<OperatorEntry>& table);
void generator_operators(std::vector<OperatorEntry>& table);
void machine_learning_operators(std::vector<OperatorEntry>& table);
void microsoft_operators(std::vector<OperatorEntry>& table);
void signal_operators(std::vector<OperatorEntry>& table);
void loss_operators(std::vector<OperatorEntry>& table);
void opaque_operators(std::vector<OperatorEntry>& table);
void random_operators(std::vector<OperatorEntry>& table);
void legacy_operators(std::vector<OperatorEntry>& table);
void state_operators(std::vector<OperatorEntry>& table);

}  // namespace axrun::ir
