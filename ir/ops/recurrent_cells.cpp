// The steps of LSTM, GRU and RNN. Gates lie in W, R and B in the order i o f c (LSTM) and z r h (GRU).
#include "ir/ops/compute.h"
#include "ir/ops/recurrent.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// The sum of a gate without peepholes: Xt W^T + Ht-1 R^T + Wb + Rb. `number` is the gate's place in
/// `recurrent`.
Scalar gate_sum(const RecurrentStep& s, const TensorRef& recurrent, int gate, int number, const Indices& i) {
  const Scalar product = recurrent({i[0], i[1] + Dim(number) * s.node().hidden});
  return s.input(gate, i) + product + s.input_bias(gate, i) + s.recurrent_bias(gate, i);
}

}  // namespace

void define_lstm(const OperatorContext& context, Builder& b, const WeightReader& weights,
                 const std::function<AddedInput(const RecurrentNode& node)>& added) {
  enum { input_gate, output_gate, forget_gate, cell_gate, gates };
  const RecurrentNode node = recurrent_node(context, b, gates, {"Sigmoid", "Tanh", "Tanh"}, weights);
  const bool coupled = flag(context, "input_forget", false);
  const bool has_peepholes = context.has(7);
  AddedInput more;
  if (added) more = added(node);
  std::vector<TensorRef> extras = more.captures;
  if (has_peepholes) {
    context.check(context.type(7) == node.type, "the inputs must have one type");
    extras.push_back(shaped_operand(b, context, 7, {Dim(node.directions), 3 * node.hidden}, "P"));
  }
  define_recurrence(context, b, node, {5, 6}, extras, [&](RecurrentStep& s) {
    Builder& inner = s.builder();
    TensorRef product = s.product(s.state(0), 0, gates);
    if (added) {
      const TensorRef own = product, other = more.value(s, s.extras());
      product = inner.map(own.dims(), [&](const Indices& i) { return own(i) + other(i); });
    }
    const TensorRef& before = s.state(1);
    const auto gate = [&](int which, const TensorRef& cell, const Indices& i) {
      Scalar sum = gate_sum(s, product, which, which, i);
      if (has_peepholes) {
        const Scalar place = i[1] + Dim(which) * node.hidden;
        sum = sum + widen(s.extras().back()({inner.integer(s.direction()), place})) * cell(i);
      }
      return s.activate(0, sum);
    };
    const TensorRef cell = s.map([&](const Indices& i) {
      const Scalar in = gate(input_gate, before, i);
      const Scalar forget = coupled ? 1.0 - in : gate(forget_gate, before, i);
      return forget * before(i) + in * s.activate(1, gate_sum(s, product, cell_gate, cell_gate, i));
    });
    const TensorRef hidden =
        s.map([&](const Indices& i) { return gate(output_gate, cell, i) * s.activation(2)(cell(i)); });
    return std::vector<TensorRef>{hidden, cell};
  });
}

namespace {

void define_plain_lstm(const OperatorContext& context, Builder& b) { define_lstm(context, b, {}); }

void define_gru(const OperatorContext& context, Builder& b) {
  enum { update_gate, reset_gate, hidden_gate, gates };
  const RecurrentNode node = recurrent_node(context, b, gates, {"Sigmoid", "Tanh"});
  const bool linear_before_reset = flag(context, "linear_before_reset", false);
  define_recurrence(context, b, node, {5}, {}, [&](RecurrentStep& s) {
    const TensorRef& before = s.state(0);
    // With linear_before_reset, the hidden gate's product joins the other two and is reset afterwards.
    const TensorRef product = s.product(before, 0, linear_before_reset ? 3 : 2);
    const auto gate = [&](int which, const Indices& i) {
      return s.activate(0, gate_sum(s, product, which, which, i));
    };
    TensorRef reset_product;
    if (!linear_before_reset) {
      const TensorRef reset = s.map([&](const Indices& i) { return gate(reset_gate, i) * before(i); });
      reset_product = s.product(reset, hidden_gate, 1);
    }
    const TensorRef hidden = s.map([&](const Indices& i) {
      Scalar candidate;
      if (linear_before_reset) {
        const Scalar linear =
            product({i[0], i[1] + Dim(hidden_gate) * s.node().hidden}) + s.recurrent_bias(hidden_gate, i);
        candidate = s.input(hidden_gate, i) + gate(reset_gate, i) * linear + s.input_bias(hidden_gate, i);
      } else {
        candidate = gate_sum(s, reset_product, hidden_gate, 0, i);
      }
      const Scalar update = gate(update_gate, i);
      return (1.0 - update) * s.activate(1, candidate) + update * before(i);
    });
    return std::vector<TensorRef>{hidden};
  });
}

void define_rnn(const OperatorContext& context, Builder& b) {
  const RecurrentNode node = recurrent_node(context, b, 1, {"Tanh"});
  define_recurrence(context, b, node, {5}, {}, [&](RecurrentStep& s) {
    const TensorRef product = s.product(s.state(0), 0, 1);
    return std::vector<TensorRef>{
        s.map([&](const Indices& i) { return s.activate(0, gate_sum(s, product, 0, 0, i)); })};
  });
}

}  // namespace

void recurrent_operators(std::vector<OperatorEntry>& table) {
  table.insert(table.end(), {
                                {"", "LSTM", 1, define_plain_lstm},
                                {"", "GRU", 1, define_gru},
                                {"", "RNN", 1, define_rnn},
                            });
}

}  // namespace axrun::ir
