#include <algorithm>
#include <numeric>

#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class Recurrent : public KernelTest {
 protected:
  /// ONNX's order, or short blocks.
  int64_t draw_block(int64_t hidden) {
    return chance(30) ? hidden : std::min(hidden, pick<int64_t>({1, 5, 8, 16, 32}));
  }
  /// Where a gate's unit is in a row.
  static size_t place(int64_t hidden, int64_t block, int64_t gates, int64_t gate, int64_t unit) {
    const int64_t first = unit / block * block, width = std::min(block, hidden - first);
    return static_cast<size_t>(first * gates + gate * width + unit - first);
  }
  /// Calls body(first, last) for runs of blocks that cover all units, in any order.
  template <class Body>
  void in_parts(int64_t hidden, int64_t block, Body body) {
    std::vector<int64_t> borders = {0};
    while (borders.back() < hidden)
      borders.push_back(std::min(hidden, borders.back() + integer(1, 4) * block));
    std::vector<size_t> order(borders.size() - 1);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const size_t k : order) body(borders[k], borders[k + 1]);
  }

  static double clipped(double x, double clip) { return clip > 0 ? std::fmax(-clip, std::fmin(clip, x)) : x; }
  static double logistic(double x, double clip) { return 1 / (1 + std::exp(-clipped(x, clip))); }
};

TEST_P(Recurrent, Lstm) {
  for (int repeat = 0; repeat < 60; ++repeat) {
    LstmStep s;
    s.batch = integer(1, 3), s.hidden = chance(20) ? integer(250, 600) : integer(1, 60);
    const std::vector<float> gates = numbers(s.batch * 4 * s.hidden, -3, 3),
                             before = numbers(s.batch * s.hidden);
    const std::vector<float> pi = numbers(s.hidden), po = numbers(s.hidden), pf = numbers(s.hidden);
    std::vector<float> cell = before, output(before.size());
    s.gates = gates.data(), s.gates_row_stride = 4 * s.hidden;
    s.cell = cell.data(), s.cell_row_stride = s.output_row_stride = s.hidden;
    s.output = output.data();
    const bool peepholes = chance(50);
    if (peepholes) s.peephole_i = pi.data(), s.peephole_o = po.data(), s.peephole_f = pf.data();
    s.input_forget = chance(30);
    if (chance(30)) s.clip = 0.7f;
    s.block = draw_block(s.hidden);
    in_parts(s.hidden, s.block, [&](int64_t first, int64_t last) { lstm_step(s, first, last); });
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t j = 0; j < s.hidden; ++j) {
        const auto at = static_cast<size_t>(b * s.hidden + j);
        const auto gate = [&](int64_t k) {
          return double{gates[static_cast<size_t>(b * 4 * s.hidden) + place(s.hidden, s.block, 4, k, j)]};
        };
        const auto peep = [&](const std::vector<float>& p) {
          return peepholes ? p[static_cast<size_t>(j)] : 0.0;
        };
        const double in = logistic(gate(0) + peep(pi) * before[at], s.clip);
        const double forget = s.input_forget ? 1 - in : logistic(gate(2) + peep(pf) * before[at], s.clip);
        const double next = forget * before[at] + in * std::tanh(clipped(gate(3), s.clip));
        const double out = logistic(gate(1) + peep(po) * next, s.clip);
        ASSERT_TRUE(near(next, cell[at], 1e-6)) << "seed " << test_seed();
        ASSERT_TRUE(near(out * std::tanh(next), output[at], 1e-6)) << "seed " << test_seed();
      }
    }
  }
}

TEST_P(Recurrent, Gru) {
  for (int repeat = 0; repeat < 60; ++repeat) {
    GruStep s;
    s.batch = integer(1, 3), s.hidden = chance(20) ? integer(250, 600) : integer(1, 60);
    const std::vector<float> input = numbers(s.batch * 3 * s.hidden, -3, 3),
                             state = numbers(s.batch * 3 * s.hidden, -3, 3);
    const std::vector<float> previous = numbers(s.batch * s.hidden);
    std::vector<float> output = previous, update(previous.size()), reset_hidden(previous.size());
    const std::vector<float> candidate = numbers(s.batch * s.hidden, -3, 3);
    s.input = input.data(), s.state = state.data();
    const bool linear_before_reset = chance(50);
    const int64_t state_gates = linear_before_reset ? 3 : 2;
    s.input_row_stride = 3 * s.hidden, s.state_row_stride = state_gates * s.hidden;
    s.previous = s.output = output.data();
    s.previous_row_stride = s.output_row_stride = s.hidden;
    s.update = update.data(), s.reset_hidden = reset_hidden.data(), s.candidate = candidate.data();
    s.block = draw_block(s.hidden);
    if (linear_before_reset) {
      in_parts(s.hidden, s.block, [&](int64_t first, int64_t last) { gru_step(s, first, last); });
    } else {
      in_parts(s.hidden, s.block, [&](int64_t first, int64_t last) { gru_reset(s, first, last); });
      in_parts(s.hidden, s.block, [&](int64_t first, int64_t last) { gru_update(s, first, last); });
    }
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t j = 0; j < s.hidden; ++j) {
        const auto at = static_cast<size_t>(b * s.hidden + j);
        const auto of = [&](const std::vector<float>& v, int64_t gates, int64_t gate) {
          return double{
              v[static_cast<size_t>(b * gates * s.hidden) + place(s.hidden, s.block, gates, gate, j)]};
        };
        const double z = logistic(of(input, 3, 0) + of(state, state_gates, 0), 0),
                     r = logistic(of(input, 3, 1) + of(state, state_gates, 1), 0);
        const double h =
            std::tanh(of(input, 3, 2) + (linear_before_reset ? r * of(state, 3, 2) : double{candidate[at]}));
        ASSERT_TRUE(near((1 - z) * h + z * previous[at], output[at], 1e-6)) << "seed " << test_seed();
        if (!linear_before_reset) {
          ASSERT_TRUE(near(r * previous[at], reset_hidden[at], 1e-6));
        }
      }
    }
  }
}

TEST_P(Recurrent, AnyFunctions) {
  for (int repeat = 0; repeat < 40; ++repeat) {
    LstmStep s;
    s.batch = integer(1, 2), s.hidden = integer(1, 60), s.block = draw_block(s.hidden);
    const std::vector<float> gates = numbers(s.batch * 4 * s.hidden, -3, 3),
                             before = numbers(s.batch * s.hidden);
    std::vector<float> cell = before, output(before.size());
    s.gates = gates.data(), s.gates_row_stride = 4 * s.hidden;
    s.cell = cell.data(), s.cell_row_stride = s.output_row_stride = s.hidden;
    s.output = output.data();
    for (GateActivation* gate : {&s.f, &s.g, &s.h}) {
      gate->function = pick({Activation::sigmoid, Activation::tanh, Activation::relu, Activation::leaky_relu,
                             Activation::hard_sigmoid});
      gate->alpha = number(0, 0.5f), gate->beta = number();
    }
    in_parts(s.hidden, s.block, [&](int64_t first, int64_t last) { lstm_step(s, first, last); });
    const auto of = [](const GateActivation& gate, double x) {
      return reference_activation(gate.function, x, gate.alpha, gate.beta);
    };
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t j = 0; j < s.hidden; ++j) {
        const auto at = static_cast<size_t>(b * s.hidden + j);
        const auto gate = [&](int64_t k) {
          return double{gates[static_cast<size_t>(b * 4 * s.hidden) + place(s.hidden, s.block, 4, k, j)]};
        };
        const double next = of(s.f, gate(2)) * before[at] + of(s.f, gate(0)) * of(s.g, gate(3));
        ASSERT_TRUE(near(next, cell[at], 2e-6)) << "seed " << test_seed();
        ASSERT_TRUE(near(of(s.f, gate(1)) * of(s.h, next), output[at], 4e-6)) << "seed " << test_seed();
      }
    }
  }
}

AXRUN_KERNEL_TESTS(Recurrent);

}  // namespace
}  // namespace axrun::runtime
