#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/ir/node_under_test.h"

namespace axrun::ir::test {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// One direction of a recurrent operator with every input: sizes, and the inputs as tensors.
struct Recurrence {
  int64_t length = 4, batch = 3, input = 2, hidden = 2;
  int64_t gates;
  Tensor x, w, r, bias, lengths, h, c, peepholes;

  Recurrence(uint32_t seed, int64_t gate_count) : gates(gate_count) {
    std::mt19937 random(seed);
    x = random_reals(random, {length, batch, input});
    w = random_reals(random, {1, gates * hidden, input});
    r = random_reals(random, {1, gates * hidden, hidden});
    bias = random_reals(random, {1, 2 * gates * hidden});
    lengths = ints({batch}, {4, 1, 3}, ElementType::i32);
    h = random_reals(random, {1, batch, hidden});
    c = random_reals(random, {1, batch, hidden});
    peepholes = random_reals(random, {1, 3 * hidden});
  }
  NodeUnderTest node(const std::string& op, int outputs) const {
    NodeUnderTest node(op, 14, outputs);
    node.input(x).input(w).input(r).input(bias).input(lengths).input(h);
    return node;
  }
  /// Xt W^T + Wb of a gate; and Ht-1 R^T + Rb.
  double from_input(int64_t t, int64_t b, int64_t row) const {
    double sum = bias.get_real(row);
    for (int64_t k = 0; k < input; ++k) {
      sum += x.get_real((t * batch + b) * input + k) * w.get_real(row * input + k);
    }
    return sum;
  }
  double from_state(const Reals& state, int64_t row) const {
    double sum = bias.get_real(gates * hidden + row);
    for (int64_t k = 0; k < hidden; ++k) sum += state[static_cast<size_t>(k)] * r.get_real(row * hidden + k);
    return sum;
  }
  Reals row_of(const Tensor& states, int64_t b) const {
    return {states.get_real(b * hidden), states.get_real(b * hidden + 1)};
  }
  /// Steps of batch entry b in the order of the recurrence.
  std::vector<int64_t> times(int64_t b, bool backward) const {
    std::vector<int64_t> order;
    for (int64_t t = 0; t < lengths.get_int(b); ++t) order.push_back(t);
    if (backward) std::reverse(order.begin(), order.end());
    return order;
  }
  /// y[t, b, j] of results [length, 1, batch, hidden].
  int64_t place(int64_t t, int64_t b, int64_t j) const { return (t * batch + b) * hidden + j; }
};

TEST(LSTM, AgreesWithItsEquations) {
  for (const bool backward : {false, true}) {
    const Recurrence e(backward ? 1 : 2, 4);
    NodeUnderTest node = e.node("LSTM", 3);
    node.input(e.c).input(e.peepholes).set("direction", backward ? "reverse" : "forward");
    const std::vector<Tensor> y = node.run_all();
    ASSERT_EQ(y[0].shape(), (Shape{4, 1, 3, 2}));
    Reals expected(static_cast<size_t>(y[0].size()), 0);
    for (int64_t b = 0; b < e.batch; ++b) {
      Reals h = e.row_of(e.h, b);
      Reals c = e.row_of(e.c, b);
      for (int64_t t : e.times(b, backward)) {
        const Reals before = h;
        for (int64_t j = 0; j < e.hidden; ++j) {
          const auto sum = [&](int64_t gate) {
            const int64_t row = gate * e.hidden + j;
            return e.from_input(t, b, row) + e.from_state(before, row);
          };
          const auto peephole = [&](int64_t gate) { return e.peepholes.get_real(gate * e.hidden + j); };
          double& cell = c[static_cast<size_t>(j)];
          const double in = sigmoid(sum(0) + peephole(0) * cell);
          const double forget = sigmoid(sum(2) + peephole(2) * cell);
          cell = forget * cell + in * std::tanh(sum(3));
          h[static_cast<size_t>(j)] = sigmoid(sum(1) + peephole(1) * cell) * std::tanh(cell);
        }
        for (int64_t j = 0; j < e.hidden; ++j) {
          expected[static_cast<size_t>(e.place(t, b, j))] = h[static_cast<size_t>(j)];
        }
      }
      for (int64_t j = 0; j < e.hidden; ++j) {
        EXPECT_NEAR(y[1].get_real(b * e.hidden + j), h[static_cast<size_t>(j)], 1e-12);
        EXPECT_NEAR(y[2].get_real(b * e.hidden + j), c[static_cast<size_t>(j)], 1e-12);
      }
    }
    for (int64_t k = 0; k < y[0].size(); ++k) {
      EXPECT_NEAR(y[0].get_real(k), expected[static_cast<size_t>(k)], 1e-12) << k;
    }
  }
}

TEST(GRU, AgreesWithItsEquations) {
  for (const bool linear_before_reset : {false, true}) {
    const Recurrence e(linear_before_reset ? 3 : 4, 3);
    NodeUnderTest node = e.node("GRU", 2);
    const std::vector<Tensor> y =
        node.set("linear_before_reset", int64_t{linear_before_reset ? 1 : 0}).run_all();
    for (int64_t b = 0; b < e.batch; ++b) {
      Reals h = e.row_of(e.h, b);
      for (int64_t t : e.times(b, false)) {
        const Reals before = h;
        const auto gate = [&](int64_t number, int64_t j) {
          const int64_t row = number * e.hidden + j;
          return sigmoid(e.from_input(t, b, row) + e.from_state(before, row));
        };
        Reals reset;
        for (int64_t j = 0; j < e.hidden; ++j) reset.push_back(gate(1, j) * before[static_cast<size_t>(j)]);
        for (int64_t j = 0; j < e.hidden; ++j) {
          const int64_t row = 2 * e.hidden + j;
          const double state =
              linear_before_reset ? gate(1, j) * e.from_state(before, row) : e.from_state(reset, row);
          const double candidate = std::tanh(e.from_input(t, b, row) + state);
          const double update = gate(0, j);
          h[static_cast<size_t>(j)] = (1 - update) * candidate + update * before[static_cast<size_t>(j)];
          EXPECT_NEAR(y[0].get_real(e.place(t, b, j)), h[static_cast<size_t>(j)], 1e-12);
        }
      }
      for (int64_t j = 0; j < e.hidden; ++j) {
        EXPECT_NEAR(y[1].get_real(b * e.hidden + j), h[static_cast<size_t>(j)], 1e-12);
      }
    }
  }
}

/// An RNN of one unit with weights 1: a running sum under the activation.
NodeUnderTest running(const std::string& activation, const Reals& x, const std::string& direction) {
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  const auto count = static_cast<size_t>(directions);
  NodeUnderTest node("RNN", 14, 2);
  node.input(reals({static_cast<int64_t>(x.size()), 1, 1}, x));
  node.input(reals({directions, 1, 1}, Reals(count, 1))).input(reals({directions, 1, 1}, Reals(count, 1)));
  node.set_strings("activations", std::vector<std::string>(count, activation)).set("direction", direction);
  return node;
}

TEST(RNN, DirectionsAndLastStates) {
  const auto forward = running("Relu", {1, 2, 4}, "forward").run_all();
  EXPECT_EQ(to_reals(forward[0]), (Reals{1, 3, 7}));
  EXPECT_EQ(to_reals(forward[1]), Reals{7});
  const auto both = running("relu", {1, 2, 4}, "bidirectional").run_all();
  EXPECT_EQ(both[0].shape(), (Shape{3, 2, 1, 1}));
  EXPECT_EQ(to_reals(both[0]), (Reals{1, 7, 3, 6, 7, 4}));
  EXPECT_EQ(to_reals(both[1]), (Reals{7, 7}));
  const auto none = running("Relu", {}, "forward").run_all();
  EXPECT_EQ(none[0].shape(), (Shape{0, 1, 1, 1}));
  EXPECT_EQ(to_reals(none[1]), Reals{0});
}

TEST(RNN, BatchFirstLayoutIsATransposition) {
  NodeUnderTest node("RNN", 14, 2);
  node.input(reals({2, 3, 1}, {1, 2, 4, 10, 20, 40}))
      .input(reals({1, 1, 1}, {1}))
      .input(reals({1, 1, 1}, {1}));
  node.set_strings("activations", {"Relu"}).set("layout", int64_t{1});
  const std::vector<Tensor> y = node.run_all();
  EXPECT_EQ(y[0].shape(), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(to_reals(y[0]), (Reals{1, 3, 7, 10, 30, 70}));
  EXPECT_EQ(y[1].shape(), (Shape{2, 1, 1}));
  EXPECT_EQ(to_reals(y[1]), (Reals{7, 70}));
}

TEST(RNN, ActivationsTakeTheirParametersInOrder) {
  NodeUnderTest node = running("", {2, 0}, "bidirectional");
  node.set_strings("activations", {"ScaledTanh", "Affine"});
  node.set_reals("activation_alpha", {2, 3}).set_reals("activation_beta", {0.5, 7});
  const Tensor y = node.run();
  EXPECT_NEAR(y.get_real(0), 2 * std::tanh(0.5 * 2), 1e-6);
  EXPECT_EQ(y.get_real(3), 7);   // backwards, the last element comes first: 3 * 0 + 7
  EXPECT_EQ(y.get_real(1), 34);  // 3 * (2 + 7) + 7
  EXPECT_THROW(running("Cosine", {1}, "forward").run(), Error);
  EXPECT_THROW(running("Relu", {1}, "sideways").run(), Error);
  NodeUnderTest clipped = running("Affine", {5}, "forward");
  EXPECT_EQ(clipped.set_real("clip", 1.5).run().get_real(0), 1.5);
}

TEST(LSTM, SymbolicLengthAndBatch) {
  const Recurrence e(5, 4);
  NodeUnderTest node("LSTM", 14, 1);
  node.input(e.x).input(e.w).input(e.r);
  const Dim t = Dim::symbol("t");
  const Dim n = Dim::symbol("n");
  EXPECT_EQ(node.output_dims(0, {t, n, 2}), (Dims{t, 1, n, 2}));
  EXPECT_THROW(node.output_dims(0, {t, n, 3}), Error);
}

TEST(LSTM, LengthsThatDoNotFitTheInputAreTheUsersError) {
  const Recurrence e(6, 4);
  const int64_t steps = e.x.shape()[0];
  const auto run = [&](int64_t length) {
    NodeUnderTest node("LSTM", 14, 1);
    node.input(e.x).input(e.w).input(e.r).input(e.bias).input(ints({3}, {length, 1, 1}, ElementType::i32));
    return to_reals(node.set("direction", "reverse").run());
  };
  for (const int64_t length : {steps + 1, int64_t{1} << 30, -steps - 2}) EXPECT_THROW(run(length), Error);
  for (const int64_t negative : {int64_t{-1}, -steps - 1}) EXPECT_EQ(run(negative), run(0));
  EXPECT_NE(run(steps), run(steps - 1));
}

}  // namespace
}  // namespace axrun::ir::test
