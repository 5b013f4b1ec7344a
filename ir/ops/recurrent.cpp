// What LSTM, GRU and RNN share: the product of all inputs with W, hoisted out of the time loop, and one scan
// per direction.
#include "ir/ops/recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/ops/compute.h"
#include "ir/ops/elementwise_parts.h"
#include "ir/ops/indexing_parts.h"
#include "ir/ops/quantize.h"
#include "ir/ops/requirements.h"

namespace axrun::ir {
namespace {

/// Names are compared without regard to case. alpha and beta are consumed from the attributes' lists by the
/// functions that have them, in order; the defaults are those of the operators of the same name.
struct ActivationKind {
  std::string_view name;
  bool has_alpha;
  bool has_beta;
  double alpha;
  double beta;
};
constexpr ActivationKind activation_kinds[] = {
    {"affine", true, true, 1, 0},         {"relu", false, false, 0, 0},
    {"leakyrelu", true, false, 0.01F, 0}, {"thresholdedrelu", true, false, 1, 0},
    {"tanh", false, false, 0, 0},         {"scaledtanh", true, true, 1, 1},
    {"sigmoid", false, false, 0, 0},      {"hardsigmoid", true, true, 0.2F, 0.5},
    {"elu", true, false, 1, 0},           {"softsign", false, false, 0, 0},
    {"softplus", false, false, 0, 0},
};

std::vector<Activation> parse_activations(const OperatorContext& context,
                                          const std::vector<std::string>& functions, int directions) {
  std::vector<std::string> names = context.strings("activations");
  const size_t needed = functions.size() * static_cast<size_t>(directions);
  if (names.empty()) {
    for (int d = 0; d < directions; ++d) names.insert(names.end(), functions.begin(), functions.end());
  }
  if (names.size() < needed) {
    context.fail(fmt::format("{} activations are given, {} are needed", names.size(), needed));
  }
  names.resize(needed);
  const std::vector<double> alphas = context.reals("activation_alpha");
  const std::vector<double> betas = context.reals("activation_beta");
  size_t alpha = 0;
  size_t beta = 0;
  std::vector<Activation> result;
  for (const std::string& name : names) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto* kind = std::find_if(std::begin(activation_kinds), std::end(activation_kinds),
                                    [&](const ActivationKind& k) { return k.name == lower; });
    if (kind == std::end(activation_kinds)) context.fail("there is no activation '" + name + "'");
    Activation activation = {lower, kind->alpha, kind->beta};
    if (kind->has_alpha && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (kind->has_beta && beta < betas.size()) activation.beta = betas[beta++];
    result.push_back(activation);
  }
  return result;
}

/// Lengths read from a table of all there are: one beyond the input is an error of the user's. Negative ones
/// are 0, and an error where they are not inside of the table from its end.
TensorRef ends_within(Builder& b, const RecurrentNode& node) {
  const Dim count = node.length + 1;
  const TensorRef ends = b.map({count}, [](const Indices& i) { return i[0]; });
  return b.map({node.batch}, [&](const Indices& i) {
    const Scalar length = cast(ElementType::i64, node.lengths(i));
    return select(length < 0, b.integer(0), ends({from_end(length, count)}));
  });
}

}  // namespace

Scalar Activation::operator()(const Scalar& x) const {
  const Scalar zero = x.builder().literal(x.type(), 0);
  if (name == "affine") return x * alpha + beta;
  if (name == "relu") return max(x, zero);
  if (name == "leakyrelu") return select(x < 0.0, x * alpha, x);
  if (name == "thresholdedrelu") return select(x < alpha, zero, x);
  if (name == "tanh") return tanh(x);
  if (name == "scaledtanh") return tanh(x * beta) * alpha;
  if (name == "sigmoid") return sigmoid(x);
  if (name == "hardsigmoid") return min(max(x * alpha + beta, 0.0), 1.0);
  if (name == "elu") return select(x < 0.0, (exp(x) - 1.0) * alpha, x);
  if (name == "softsign") return x / (abs(x) + 1.0);
  return softplus(x);
}

RecurrentNode recurrent_node(const OperatorContext& context, Builder& b, int gates,
                             const std::vector<std::string>& functions, const WeightReader& weights) {
  RecurrentNode node;
  node.gates = gates;
  node.input = real_operand(b, context, 0);
  node.type = node.input.type();
  node.compute = compute_type(node.type);
  context.check(node.input.rank() == 3, "X must have rank 3");
  node.batch_first = flag(context, "layout", false);
  node.length = node.input.dims()[node.batch_first ? 1 : 0];
  node.batch = node.input.dims()[node.batch_first ? 0 : 1];
  node.input_size = node.input.dims()[2];
  const std::string direction = context.string("direction", "forward");
  context.check(direction == "forward" || direction == "reverse" || direction == "bidirectional",
                "attribute 'direction' may not be '" + direction + "'");
  node.directions = direction == "bidirectional" ? 2 : 1;
  node.reverse = direction == "reverse";
  node.clip = context.real("clip", 0);
  context.check(node.clip >= 0, "attribute 'clip' is negative");
  node.activations = parse_activations(context, functions, node.directions);

  if (weights) {
    weights(node);
    node.hidden = node.recurrence.dims()[2];
  } else {
    context.check(context.rank(2) == 3, "R must have rank 3");
    node.hidden = context.dims(2)[2];
  }
  if (const int64_t stated = context.integer("hidden_size", 0); stated > 0) {
    context.check(context.equal(node.hidden, Dim(stated)), "attribute 'hidden_size' differs from R");
  }
  for (int k : {1, 2, 3}) {
    if (weights && k < 3) continue;
    context.check(!context.has(k) || context.type(k) == node.type, "the inputs must have one type");
  }
  const Dim directions(node.directions);
  const Dim rows = Dim(gates) * node.hidden;
  if (!weights) node.weight = operand(b, context, 1);
  check_dims(context, node.weight, {directions, rows, node.input_size}, "W");
  if (!weights) node.recurrence = operand(b, context, 2);
  check_dims(context, node.recurrence, {directions, rows, node.hidden}, "R");
  if (context.has(3)) node.bias = shaped_operand(b, context, 3, {directions, 2 * rows}, "B");
  if (context.has(4)) {
    typed_operand(b, context, 4, {ElementType::i32});
    node.lengths = shaped_operand(b, context, 4, {node.batch}, "sequence_lens");
    if (node.reverse || node.directions == 2) node.lengths = ends_within(b, node);
  }
  return node;
}

TensorRef through_bytes(Builder& b, const TensorRef& x) {
  const QuantizedBytes bytes = quantized_to_bytes(b, x);
  return b.map(x.dims(), [&](const Indices& i) {
    const Scalar whole = cast(ElementType::i32, bytes.values(i)) - cast(ElementType::i32, bytes.zero({}));
    return cast(ElementType::f32, whole) * bytes.scale({});
  });
}

// The step
// -----------------------------------------------------------------------------------------------------------

RecurrentStep::RecurrentStep(Builder& b, const RecurrentNode& node, int direction,
                             std::vector<TensorRef> captures, std::vector<TensorRef> states)
    : b_(b), node_(node), direction_(direction), states_(std::move(states)) {
  size_t next = 0;
  input_ = captures[next++];
  recurrence_ = captures[next++];
  if (node.bias.defined()) bias_ = captures[next++];
  if (node.lengths.defined()) lengths_ = captures[next++];
  extras_.assign(captures.begin() + static_cast<std::ptrdiff_t>(next), captures.end());
}

Scalar RecurrentStep::active(const Scalar& batch) const {
  if (!lengths_.defined()) return {};
  return time_index() < cast(ElementType::i64, lengths_({batch}));
}

Scalar RecurrentStep::is_first(const Scalar& batch) const {
  if (!node_.is_backward(direction_) || !lengths_.defined()) return b_.time() == 0;
  return time_index() == cast(ElementType::i64, lengths_({batch})) - 1;
}

/// Backwards, the steps before the end of a sequence leave its states as they are.
Scalar RecurrentStep::time_index() const {
  return node_.is_backward(direction_) ? b_.extent(node_.length) - 1 - b_.time() : b_.time();
}

Scalar RecurrentStep::input(int gate, const Indices& i) const {
  return input_({time_index(), i[0], i[1] + Dim(gate) * node_.hidden});
}

Scalar RecurrentStep::bias_at(int gate, const Scalar& hidden, bool recurrent) const {
  if (!bias_.defined()) return b_.real(node_.compute, 0);
  const int row = recurrent ? node_.gates + gate : gate;
  return widen(bias_({b_.integer(direction_), hidden + Dim(row) * node_.hidden}));
}

Scalar RecurrentStep::input_bias(int gate, const Indices& i) const { return bias_at(gate, i[1], false); }
Scalar RecurrentStep::recurrent_bias(int gate, const Indices& i) const { return bias_at(gate, i[1], true); }

TensorRef RecurrentStep::product(const TensorRef& given, int first, int count) {
  const TensorRef values = node_.quantised ? through_bytes(b_, given) : given;
  return b_.sum({node_.batch, Dim(count) * node_.hidden}, {node_.hidden},
                [&](const Indices& i, const Indices& k) {
                  const Scalar row = i[1] + Dim(first) * node_.hidden;
                  return values({i[0], k[0]}) * widen(recurrence_({b_.integer(direction_), row, k[0]}));
                });
}

const Activation& RecurrentStep::activation(int which) const {
  const size_t per_direction = node_.activations.size() / static_cast<size_t>(node_.directions);
  return node_.activations[static_cast<size_t>(direction_) * per_direction + static_cast<size_t>(which)];
}

Scalar RecurrentStep::activate(int which, const Scalar& sum) const {
  return activation(which)(node_.clip > 0 ? max(min(sum, node_.clip), -node_.clip) : sum);
}

// The operator
// -----------------------------------------------------------------------------------------------------------

namespace {

/// Xt W^T of every time and batch entry: [length, batch, gates * hidden].
TensorRef input_product(Builder& b, const RecurrentNode& node, int direction) {
  return b.sum({node.length, node.batch, Dim(node.gates) * node.hidden}, {node.input_size},
               [&](const Indices& i, const Indices& k) {
                 const Indices at = node.batch_first ? Indices{i[1], i[0], k[0]} : Indices{i[0], i[1], k[0]};
                 return widen(node.input(at)) * widen(node.weight({b.integer(direction), i[2], k[0]}));
               });
}

/// [directions, batch, ...] or with the batch first.
Indices state_index(const RecurrentNode& node, const Scalar& direction, const Indices& i) {
  return node.batch_first ? Indices{i[0], direction, i[1]} : Indices{direction, i[0], i[1]};
}

Dims state_dims(const RecurrentNode& node) {
  const Dim directions(node.directions);
  return node.batch_first ? Dims{node.batch, directions, node.hidden}
                          : Dims{directions, node.batch, node.hidden};
}

/// What one direction's scan gives.
struct DirectionResult {
  std::vector<TensorRef> last;
  TensorRef emitted;  ///< [length, batch, hidden], in the order of the scan's steps
};

/// The value of direction `d`, which is an axis of two points or the constant 0.
Scalar of_direction(const RecurrentNode& node, const Scalar& d, const std::function<Scalar(int)>& value) {
  if (node.directions == 1) return value(0);
  return select(d == 0, value(0), value(1));
}

}  // namespace

void define_recurrence(const OperatorContext& context, Builder& b, const RecurrentNode& node,
                       const std::vector<int>& initial, const std::vector<TensorRef>& extras,
                       const std::function<std::vector<TensorRef>(RecurrentStep&)>& step) {
  std::vector<DirectionResult> results;
  for (int direction = 0; direction < node.directions; ++direction) {
    std::vector<TensorRef> captures = {input_product(b, node, direction), node.recurrence};
    for (const TensorRef& tensor : {node.bias, node.lengths}) {
      if (tensor.defined()) captures.push_back(tensor);
    }
    captures.insert(captures.end(), extras.begin(), extras.end());
    std::vector<TensorRef> states;
    for (int k : initial) {
      TensorRef given;
      if (context.has(k)) {
        context.check(context.type(k) == node.type, "the inputs must have one type");
        given = shaped_operand(b, context, k, state_dims(node), fmt::format("input {}", k));
      }
      states.push_back(b.map({node.batch, node.hidden}, [&](const Indices& i) {
        return given.defined() ? widen(given(state_index(node, b.integer(direction), i)))
                               : b.real(node.compute, 0);
      }));
    }
    const size_t count = states.size();
    const std::vector<TensorRef> scanned = b.scan(
        node.length, captures, states,
        [&](Builder& inner, const std::vector<TensorRef>& captured, const std::vector<TensorRef>& before) {
          RecurrentStep recurrent(inner, node, direction, captured, before);
          Builder::StepResult result;
          result.states = step(recurrent);
          for (size_t k = 0; node.lengths.defined() && k < count; ++k) {
            const TensorRef after = result.states[k];
            result.states[k] = recurrent.map(
                [&](const Indices& i) { return select(recurrent.active(i[0]), after(i), before[k](i)); });
          }
          result.emitted = {result.states[0]};
          return result;
        });
    results.push_back(
        {{scanned.begin(), scanned.begin() + static_cast<std::ptrdiff_t>(count)}, scanned[count]});
  }

  // Y: what the scan emitted, in the order of time; 0 after the end of a sequence.
  const auto sequence_value = [&](int direction, const Scalar& time, const Indices& i) {
    const TensorRef& emitted = results[static_cast<size_t>(direction)].emitted;
    const bool backward = node.is_backward(direction);
    const Scalar value = emitted({backward ? b.extent(node.length) - 1 - time : time, i[0], i[1]});
    if (!node.lengths.defined()) return value;
    return select(time < cast(ElementType::i64, node.lengths({i[0]})), value, b.real(node.compute, 0));
  };
  const Dim directions(node.directions);
  const Dims sequence_dims = node.batch_first ? Dims{node.batch, node.length, directions, node.hidden}
                                              : Dims{node.length, directions, node.batch, node.hidden};
  b.output(b.map(sequence_dims, [&](const Indices& i) {
    const Scalar time = node.batch_first ? i[1] : i[0];
    const Scalar direction = node.batch_first ? i[2] : i[1];
    const Indices at = {node.batch_first ? i[0] : i[2], i[3]};
    return cast(node.type, of_direction(node, direction, [&](int d) { return sequence_value(d, time, at); }));
  }));
  const auto states = static_cast<size_t>(std::max(wanted_outputs(context) - 1, 0));
  context.check(states <= initial.size(), "too many outputs");
  for (size_t k = 0; k < states; ++k) {
    b.output(b.map(state_dims(node), [&](const Indices& i) {
      const Scalar direction = node.batch_first ? i[1] : i[0];
      const Indices at = {node.batch_first ? i[0] : i[1], i[2]};
      return cast(node.type, of_direction(node, direction, [&](int d) {
                    return results[static_cast<size_t>(d)].last[k](at);
                  }));
    }));
  }
}

}  // namespace axrun::ir
