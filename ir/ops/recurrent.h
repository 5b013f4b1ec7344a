#pragma once

#include <functional>
#include <string>

#include "ir/operator.h"

namespace axrun::ir {

/// A named activation of a recurrent operator with its parameters.
struct Activation {
  std::string name;
  double alpha = 0;
  double beta = 0;
  Scalar operator()(const Scalar& x) const;
};

/// A node of LSTM, GRU or RNN, checked: X, W, R, B, sequence_lens and the common attributes.
struct RecurrentNode {
  Dim length;
  Dim batch;
  Dim input_size;
  Dim hidden;
  int directions = 1;
  bool reverse = false;      ///< the only direction is backwards
  bool batch_first = false;  ///< attribute layout
  double clip = 0;           ///< none when 0
  ElementType type = ElementType::f32;
  ElementType compute = ElementType::f32;
  int gates = 1;
  TensorRef input;       ///< X
  TensorRef weight;      ///< W [directions, gates * hidden, input]
  TensorRef recurrence;  ///< R [directions, gates * hidden, hidden]
  TensorRef bias;        ///< B [directions, 2 * gates * hidden], or undefined
  TensorRef lengths;     ///< of the sequences, [batch], or undefined
  std::vector<Activation> activations;
  bool quantised = false;  ///< states are, before each product

  bool is_backward(int direction) const { return reverse || direction == 1; }
};

/// Sets weight, recurrence and what else differs where W and R are not what LSTM, GRU and RNN have; input and
/// directions are there already.
using WeightReader = std::function<void(RecurrentNode& node)>;

/// `functions` names the default activations of one direction.
RecurrentNode recurrent_node(const OperatorContext& context, Builder& b, int gates,
                             const std::vector<std::string>& functions, const WeightReader& weights = {});

class RecurrentStep;
/// What is added to Xt W^T of all gates.
struct AddedInput {
  std::vector<TensorRef> captures;  ///< tensors that steps read
  /// Its value in a step, [batch, gates * hidden], from the captured tensors.
  std::function<TensorRef(RecurrentStep& step, const std::vector<TensorRef>& captured)> value;
};

/// LSTM's outputs.
void define_lstm(const OperatorContext& context, Builder& b, const WeightReader& weights,
                 const std::function<AddedInput(const RecurrentNode& node)>& added = {});

/// x (f32) quantised to u8 as DynamicQuantizeLinear does, and back.
TensorRef through_bytes(Builder& b, const TensorRef& x);

/// One step of one direction inside the scan.
class RecurrentStep {
 public:
  RecurrentStep(Builder& b, const RecurrentNode& node, int direction, std::vector<TensorRef> captures,
                std::vector<TensorRef> states);

  Builder& builder() { return b_; }
  const RecurrentNode& node() const { return node_; }
  int direction() const { return direction_; }
  /// State k before the step, [batch, hidden].
  const TensorRef& state(size_t k) const { return states_[k]; }
  /// The tensors captured beside those of the node.
  const std::vector<TensorRef>& extras() const { return extras_; }
  /// Xt W^T of a gate at (batch, hidden).
  Scalar input(int gate, const Indices& i) const;
  /// 0 without B.
  Scalar input_bias(int gate, const Indices& i) const;
  Scalar recurrent_bias(int gate, const Indices& i) const;
  /// [batch, count * hidden]: values R^T for the gates first .. first + count - 1.
  TensorRef product(const TensorRef& values, int first, int count);
  /// Activation number `which` of the direction.
  const Activation& activation(int which) const;
  /// The same for a gate, whose sum is clipped first.
  Scalar activate(int which, const Scalar& sum) const;

  /// Whether the sequence of the batch entry goes on at this step; undefined without sequence_lens.
  Scalar active(const Scalar& batch) const;
  /// Whether it begins at this step.
  Scalar is_first(const Scalar& batch) const;
  TensorRef map(const Builder::MapBody& body) { return b_.map({node_.batch, node_.hidden}, body); }

 private:
  Scalar time_index() const;
  Scalar bias_at(int gate, const Scalar& hidden, bool recurrent) const;
  Builder& b_;
  const RecurrentNode& node_;
  int direction_;
  TensorRef input_;
  TensorRef recurrence_;
  TensorRef bias_;
  TensorRef lengths_;
  std::vector<TensorRef> extras_;
  std::vector<TensorRef> states_;
};

/// Emits the node's outputs: Y, then the last value of every state. `initial` gives the input of each state's
/// initial value (0 when absent); the first state is what Y collects. The step returns the new states.
void define_recurrence(const OperatorContext& context, Builder& b, const RecurrentNode& node,
                       const std::vector<int>& initial, const std::vector<TensorRef>& extras,
                       const std::function<std::vector<TensorRef>(RecurrentStep&)>& step);

}  // namespace axrun::ir
