#include <cmath>

#include "tests/operators/generators.h"

namespace axrun::runtime {

Case draw_recurrent(Random& random, std::string_view op, const RecurrentSizes& sizes) {
  Case c;
  c.tolerance = 5e-5;  // roundings travel from step to step
  const auto [length, batch, input, hidden] = sizes;
  const bool lstm = op == "LSTM", gru = op == "GRU";
  const int64_t gates = lstm ? 4 : gru ? 3 : 1;
  const int functions_per_direction = lstm ? 3 : gru ? 2 : 1;
  const auto direction = random.pick<const char*>({"forward", "reverse", "bidirectional"});
  const int64_t directions = std::string_view(direction) == "bidirectional" ? 2 : 1;
  const bool batch_first = random.chance(30);
  const bool constant = random.chance(70);
  NodeBuilder node(c, op, 14);
  node.text("direction", direction).integer("hidden_size", hidden).integer("layout", batch_first);
  node.input(random.floats(batch_first ? ir::Shape{batch, length, input} : ir::Shape{length, batch, input}));
  node.input(random.floats({directions, gates * hidden, input}), constant);
  // Many large weights would make steps grow every difference, roundings as well.
  const double largest = hidden > 20 ? 1.7 / std::sqrt(static_cast<double>(hidden)) : 1;
  node.input(random.floats({directions, gates * hidden, hidden}, -largest, largest), constant);
  const auto maybe = [&](int percent, auto make) {
    if (random.chance(percent)) {
      make();
    } else {
      node.absent();
    }
  };
  maybe(70, [&] { node.input(random.floats({directions, 2 * gates * hidden}), constant); });
  maybe(40, [&] {
    const bool equal = random.chance(30);
    ir::Tensor lengths = random.tensor(ir::ElementType::i32, {batch}, 1, static_cast<double>(length));
    for (int64_t b = 0; b < batch && equal; ++b) lengths.set_int(b, length);
    node.input(lengths);
  });
  const ir::Shape state =
      batch_first ? ir::Shape{batch, directions, hidden} : ir::Shape{directions, batch, hidden};
  maybe(60, [&] { node.input(random.floats(state)); });
  if (lstm) {
    maybe(60, [&] { node.input(random.floats(state)); });
    maybe(40, [&] { node.input(random.floats({directions, 3 * hidden})); });
    if (random.chance(20)) node.integer("input_forget", 1);
  }
  if (gru) node.integer("linear_before_reset", random.integer(0, 1));
  if (random.chance(20)) node.real("clip", random.real(0.3, 1));
  if (random.chance(40)) {
    std::vector<std::string> functions;
    for (int64_t k = 0; k < directions * functions_per_direction; ++k) {
      // Gates stay between 0 and 1, or states would grow without limit.
      const bool gate = k % functions_per_direction == 0 && functions_per_direction > 1;
      functions.emplace_back(
          gate ? random.pick<const char*>({"Sigmoid", "HardSigmoid"})
               : random.pick<const char*>({"Sigmoid", "Tanh", "Relu", "LeakyRelu", "HardSigmoid"}));
    }
    node.texts("activations", functions);
    if (random.chance(60))
      node.reals("activation_alpha", {0.1, 0.3, 0.2}).reals("activation_beta", {0.4, 0.6});
  }
  if (random.chance(80)) {
    node.output();
  } else {
    node.no_output();
  }
  node.output();
  if (lstm && random.chance(70)) node.output();
  return c;
}

Case draw_quantized_lstm(Random& random, const RecurrentSizes& sizes) {
  Case c;
  const auto [length, batch, input, hidden] = sizes;
  // A state close to the middle between two bytes may go to either, and takes the next steps with it.
  c.tolerance = length == 1 ? 5e-5 : 2e-2;
  const auto direction = random.pick<const char*>({"forward", "reverse", "bidirectional"});
  const int64_t directions = std::string_view(direction) == "bidirectional" ? 2 : 1, columns = 4 * hidden;
  NodeBuilder node(c, "DynamicQuantizeLSTM", 1, "com.microsoft");
  node.text("direction", direction).integer("hidden_size", hidden);
  const auto type = random.pick({ir::ElementType::u8, ir::ElementType::i8});
  const double middle = type == ir::ElementType::u8 ? 128 : 0;
  const auto weights = [&](int64_t rows) {
    return random.tensor(type, {directions, rows, columns}, middle - 128, middle + 127);
  };
  node.input(between_bytes(random, {length, batch, input}));
  node.constant(weights(input)).constant(weights(hidden));
  const auto maybe = [&](int percent, auto make) {
    if (random.chance(percent)) {
      make();
    } else {
      node.absent();
    }
  };
  maybe(70, [&] { node.constant(random.floats({directions, 2 * columns})); });
  maybe(50, [&] {
    const bool equal = random.chance(30);
    node.input(random.tensor(ir::ElementType::i32, {batch}, equal ? static_cast<double>(length) : 0,
                             static_cast<double>(length)));
  });
  maybe(70, [&] { node.input(between_bytes(random, {directions, batch, hidden})); });
  maybe(60, [&] { node.input(random.floats({directions, batch, hidden})); });
  maybe(40, [&] { node.input(random.floats({directions, 3 * hidden})); });
  // Of W, then of R: the sums stay where the gates are not flat.
  for (const int64_t depth : {input, hidden}) {
    const ir::Shape shape = random.chance(50) ? ir::Shape{directions} : ir::Shape{directions, columns};
    const double scale = 1 / (128 * std::sqrt(static_cast<double>(depth)));
    node.constant(random.floats(shape, scale / 2, scale * 2));
    node.constant(random.tensor(type, shape, middle - 9, middle + 9));
  }
  if (random.chance(20)) node.integer("input_forget", 1);
  if (random.chance(20)) node.real("clip", random.real(0.3, 1));
  if (random.chance(80)) {
    node.output();
  } else {
    node.no_output();
  }
  node.output();
  if (random.chance(70)) node.output();
  return c;
}

namespace {

Case draw_small(Random& random, std::string_view op) {
  const int64_t length = random.integer(1, 6), batch = random.integer(1, 3), input = random.integer(1, 9);
  return draw_recurrent(random, op, {length, batch, input, random.integer(1, random.chance(30) ? 20 : 7)});
}
Case lstm(Random& random) { return draw_small(random, "LSTM"); }
Case gru(Random& random) { return draw_small(random, "GRU"); }
Case rnn(Random& random) { return draw_small(random, "RNN"); }

Case quantized_lstm(Random& random) {
  const int64_t length = random.chance(70) ? 1 : random.integer(2, 6), batch = random.integer(1, 3);
  return draw_quantized_lstm(random, {length, batch, random.integer(1, 9), random.integer(1, 20)});
}

}  // namespace

void recurrent_generators(std::vector<GeneratorEntry>& table) {
  table.push_back({"", "LSTM", lstm});
  table.push_back({"", "GRU", gru});
  table.push_back({"", "RNN", rnn});
  table.push_back({"com.microsoft", "DynamicQuantizeLSTM", quantized_lstm});
}

}  // namespace axrun::runtime
