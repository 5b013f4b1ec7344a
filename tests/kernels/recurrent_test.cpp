#include "tests/kernels/support.h"

namespace axrun::runtime {
namespace {

class Recurrent : public KernelTest {
 protected:
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
    lstm_step(s);
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t j = 0; j < s.hidden; ++j) {
        const auto at = static_cast<size_t>(b * s.hidden + j);
        const auto gate = [&](int64_t k) {
          return double{gates[static_cast<size_t>((b * 4 + k) * s.hidden + j)]};
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
    std::vector<float> work = state, output = previous, reset_hidden(previous.size());
    s.input = input.data(), s.state = work.data();
    s.input_row_stride = s.state_row_stride = 3 * s.hidden;
    s.previous = s.output = output.data();
    s.previous_row_stride = s.output_row_stride = s.reset_hidden_row_stride = s.hidden;
    s.reset_hidden = reset_hidden.data();
    const bool linear_before_reset = chance(50);
    if (linear_before_reset) {
      gru_step(s);
    } else {
      gru_reset(s);
      gru_update(s);  // with the state's h part as the product's result
    }
    for (int64_t b = 0; b < s.batch; ++b) {
      for (int64_t j = 0; j < s.hidden; ++j) {
        const auto at = static_cast<size_t>(b * s.hidden + j);
        const auto of = [&](const std::vector<float>& v, int64_t gate) {
          return double{v[static_cast<size_t>((b * 3 + gate) * s.hidden + j)]};
        };
        const double z = logistic(of(input, 0) + of(state, 0), 0),
                     r = logistic(of(input, 1) + of(state, 1), 0);
        const double h = std::tanh(of(input, 2) + (linear_before_reset ? r : 1) * of(state, 2));
        ASSERT_TRUE(near((1 - z) * h + z * previous[at], output[at], 1e-6)) << "seed " << test_seed();
        if (!linear_before_reset) {
          ASSERT_TRUE(near(r * previous[at], reset_hidden[at], 1e-6));
        }
      }
    }
  }
}

AXRUN_KERNEL_TESTS(Recurrent);

}  // namespace
}  // namespace axrun::runtime
