#include "runtime/operators/recurrent_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ir/error.h"

namespace axrun::runtime {
namespace {

struct NamedActivation {
  std::string_view name;
  Activation function;
  bool has_alpha, has_beta;
  float alpha, beta;
};
constexpr NamedActivation named_activations[] = {
    {"sigmoid", Activation::sigmoid, false, false, 0, 0},
    {"tanh", Activation::tanh, false, false, 0, 0},
    {"relu", Activation::relu, false, false, 0, 0},
    {"leakyrelu", Activation::leaky_relu, true, false, 0.01f, 0},
    {"hardsigmoid", Activation::hard_sigmoid, true, true, 0.2f, 0.5f},
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The functions of every direction, one after the other; false when one has no kernel.
bool read_activations(const StepContext& context, RecurrentSetup& setup) {
  std::vector<std::string> names;
  std::vector<double> alphas, betas;
  const auto& attributes = context.node.attributes;
  if (const auto found = attributes.find("activations"); found != attributes.end())
    names = found->second.strings;
  if (const auto found = attributes.find("activation_alpha"); found != attributes.end())
    alphas = found->second.reals;
  if (const auto found = attributes.find("activation_beta"); found != attributes.end())
    betas = found->second.reals;
  const std::vector<std::string> defaults =
      setup.cell == Cell::lstm  ? std::vector<std::string>{"sigmoid", "tanh", "tanh"}
      : setup.cell == Cell::gru ? std::vector<std::string>{"sigmoid", "tanh"}
                                : std::vector<std::string>{"tanh"};
  if (names.empty()) {
    for (int d = 0; d < setup.directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  size_t alpha = 0, beta = 0;
  for (int d = 0; d < setup.directions; ++d) {
    for (size_t k = 0; k < defaults.size(); ++k) {
      const size_t at = static_cast<size_t>(d) * defaults.size() + k;
      if (at >= names.size()) return false;
      const std::string name = lower_case(names[at]);
      const auto* found = std::find_if(std::begin(named_activations), std::end(named_activations),
                                       [&](const NamedActivation& a) { return a.name == name; });
      if (found == std::end(named_activations)) return false;
      GateActivation activation{found->function, found->alpha, found->beta};
      if (found->has_alpha && alpha < alphas.size()) activation.alpha = static_cast<float>(alphas[alpha++]);
      if (found->has_beta && beta < betas.size()) activation.beta = static_cast<float>(betas[beta++]);
      (*setup.weights)[static_cast<size_t>(d)].activations[k] = activation;
    }
  }
  return true;
}

/// Calls body(first unit, units) for every block.
template <class Body>
void for_blocks(const RecurrentSetup& setup, Body body) {
  for (int64_t first = 0; first < setup.hidden; first += setup.block)
    body(first, std::min(setup.block, setup.hidden - first));
}

/// `gates` gates of W or R of one direction, [all gates * hidden, columns], packed as the right side of a
/// product: rows become columns, block by block.
PackedWeights pack_gates(const StepContext& context, const RecurrentSetup& setup, const ir::Tensor& weights,
                         int direction, int64_t first_gate, int64_t gates) {
  const int64_t rows = weights.shape()[1], columns = weights.shape()[2];
  const float* from = weights.as<float>() + (direction * rows + first_gate * setup.hidden) * columns;
  const jit::PreparedKey key{fmt::format("recurrent {} {} {} {} {} {} {}", direction, rows, first_gate, gates,
                                         columns, setup.hidden, setup.block),
                             {{weights.data(), weights.bytes()}}};
  return context.packs.get(key, gemm_packed_b_bytes(columns, gates * setup.hidden), [&](void* to) {
    std::vector<float> block(static_cast<size_t>(gates * setup.block * columns));
    for_blocks(setup, [&](int64_t first, int64_t units) {
      for (int64_t gate = 0; gate < gates; ++gate) {
        std::copy_n(from + (gate * setup.hidden + first) * columns, units * columns,
                    block.data() + gate * units * columns);
      }
      gemm_pack_b(columns, gates * units, block.data(), 1, columns,
                  static_cast<float*>(to) + first * gates * columns);
    });
  });
}

/// The same of a bias with a value per gate and unit.
std::vector<float> order_gates(const RecurrentSetup& setup, const float* from) {
  std::vector<float> result;
  for (const int64_t column : gate_order(setup)) result.push_back(from[column]);
  return result;
}

void read_weights(const StepContext& context, RecurrentSetup& setup) {
  using namespace recurrent_ports;
  const int64_t columns = setup.gate_columns();
  for (int d = 0; d < setup.directions; ++d) {
    DirectionWeights& weights = (*setup.weights)[static_cast<size_t>(d)];
    weights.input = pack_gates(context, setup, *context.inputs[port_w].constant, d, 0, setup.gates);
    const ir::Tensor& recurrence = *context.inputs[port_r].constant;
    if (setup.has_two_products()) {
      weights.state = pack_gates(context, setup, recurrence, d, 0, 2);
      weights.hidden = pack_gates(context, setup, recurrence, d, 2, 1);
    } else {
      weights.state = pack_gates(context, setup, recurrence, d, 0, setup.gates);
    }
    if (!setup.has_bias) continue;
    const float* bias = context.inputs[port_b].constant->as<float>() + 2 * d * columns;
    std::vector<float> sum(bias, bias + columns), apart(static_cast<size_t>(columns), 0.0f);
    // Only a GRU with linear_before_reset needs the two biases of its hidden gate apart.
    const bool keeps_apart = setup.cell == Cell::gru && setup.reset_after;
    for (int64_t i = 0; i < columns; ++i) {
      const bool stays = keeps_apart && i >= columns - setup.hidden;
      (stays ? apart : sum)[static_cast<size_t>(i)] += bias[columns + i];
    }
    weights.bias_input = order_gates(setup, sum.data());
    if (keeps_apart) weights.bias_state = order_gates(setup, apart.data());
  }
}

}  // namespace

std::vector<int64_t> gate_order(const RecurrentSetup& setup) {
  std::vector<int64_t> order;
  order.reserve(static_cast<size_t>(setup.gate_columns()));
  for_blocks(setup, [&](int64_t first, int64_t units) {
    for (int64_t gate = 0; gate < setup.gates; ++gate) {
      for (int64_t unit = first; unit < first + units; ++unit) order.push_back(gate * setup.hidden + unit);
    }
  });
  return order;
}

std::optional<RecurrentSetup> read_recurrent_node(const StepContext& context, Cell cell, int64_t hidden) {
  using namespace recurrent_ports;
  RecurrentSetup setup;
  setup.cell = cell;
  setup.gates = cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1;
  setup.batch_first = context.integer("layout", 0) != 0;
  const bool is_any = setup.size(context.inputs[port_x].shape);
  setup.hidden = hidden;
  const std::string direction = context.string("direction", "forward");
  setup.directions = direction == "bidirectional" ? 2 : 1;
  setup.reverse = direction == "reverse";
  setup.reset_after = context.integer("linear_before_reset", 0) != 0;
  setup.input_forget = context.integer("input_forget", 0) != 0;
  setup.clip = static_cast<float>(context.real("clip", 0));
  setup.has_bias = context.has_input(port_b);
  setup.has_lengths = context.has_input(port_lengths);
  setup.has_initial_hidden = context.has_input(port_h);
  setup.has_initial_cell = cell == Cell::lstm && context.has_input(port_c);
  setup.has_peepholes = cell == Cell::lstm && context.has_input(port_p);
  if (!is_any || setup.hidden == 0) return std::nullopt;
  setup.weights = std::make_shared<std::vector<DirectionWeights>>(static_cast<size_t>(setup.directions));
  if (!read_activations(context, setup)) return std::nullopt;
  return setup;
}

std::optional<RecurrentSetup> read_recurrent(const StepContext& context, Cell cell) {
  using namespace recurrent_ports;
  if (context.fused() || context.inputs.size() < 3) return std::nullopt;
  for (size_t k = 0; k < context.inputs.size(); ++k) {
    const bool required = k <= port_r;
    if (required && !context.has_input(k)) return std::nullopt;
    if (!context.has_input(k) || k == port_lengths) continue;
    if (context.inputs[k].type != ir::ElementType::f32) return std::nullopt;
  }
  auto setup = read_recurrent_node(context, cell, context.inputs[port_r].shape[2]);
  if (!setup) return std::nullopt;
  setup->constant_weights = context.inputs[port_w].constant != nullptr &&
                            context.inputs[port_r].constant != nullptr &&
                            (!setup->has_bias || context.inputs[port_b].constant != nullptr);
  setup->block = setup->constant_weights ? std::min(gemm_panel_columns(), setup->hidden) : setup->hidden;
  if (setup->constant_weights) read_weights(context, *setup);
  return setup;
}

bool RecurrentSetup::resize(const PortSizes& ports) {
  using namespace recurrent_ports;
  const int64_t before = input;
  const Extents r = ports.input(port_r);  // of either order
  return size(ports.input(port_x)) && input == before && r.count() == directions * gate_columns() * hidden;
}

int64_t RecurrentSetup::steps_of(int32_t sequence, int direction, std::string_view op,
                                 std::string_view node) const {
  if ((sequence > length || sequence < -length - 1) && backward(direction)) {
    throw Error(Fault::user,
                fmt::format("{} '{}': a sequence of length {} does not fit the {} steps of the input", op,
                            node, sequence, length));
  }
  return std::clamp<int64_t>(sequence, 0, length);
}

}  // namespace axrun::runtime
