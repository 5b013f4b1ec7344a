// The numeric gate on kernels that carry a state from step to step, right and wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "ir/text.h"
#include "tests/verify/gate_kernels.h"

namespace axrun::verify {
namespace {

/// h' = tanh(x[time] + h R + b), with all states and the last one.
const char* const recurrence =
    R"(program Rnn(x: f32[t, n], r: f32[n, n], b: f32[n], h0: f32[n]) -> (y, last) {
  last: f32[n], y: f32[t, n] = scan (length: t; captures: x, r, b; states: h0)
  program step(x: f32[t, n], r: f32[n, n], b: f32[n], h: f32[n]) -> (h1, h1) {
    p: f32[n] = reduce sum (j: n; k: n) { h[k] * r[k, j] }
    h1: f32[n] = map (j: n) { tanh(x[time, j] + p[j] + b[j]) }
  }
})";

struct RnnKernel {
  struct At {
    int64_t time, j, k, t, n;
  };
  std::function<int64_t(const At&)> input_time = [](const At& x) { return x.time; };
  std::function<int64_t(const At&)> state_time = [](const At& x) { return x.time; };  ///< 0: the initial one
  std::function<int64_t(const At&)> weight_row = [](const At& x) { return x.k; };
  std::function<int64_t(int64_t t)> last = [](int64_t t) { return t; };
  int64_t first_bias = 0;  ///< bias counts from this step on

  void operator()(const GateCall& call) const {
    const int64_t t = call.sizes.at("t"), n = call.sizes.at("n");
    const auto operand = [&](size_t k) { return static_cast<const float*>(call.operands[k]); };
    std::vector<float> states(operand(3), operand(3) + n);
    states.resize(static_cast<size_t>((t + 1) * n));
    const auto state = [&](int64_t time, int64_t j) -> float& {
      return states[static_cast<size_t>(time * n + j)];
    };
    for (int64_t time = 0; time < t; ++time) {
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < n; ++k) {
          const At at = {time, j, k, t, n};
          sum = std::fma(state(state_time(at), k), operand(1)[weight_row(at) * n + j], sum);
        }
        const float bias = time >= first_bias ? operand(2)[j] : 0;
        const float x = operand(0)[input_time({time, j, 0, t, n}) * n + j];
        state(time + 1, j) = std::tanh(x + sum + bias);
      }
    }
    for (int64_t k = 0; k < t * n; ++k)
      static_cast<float*>(call.results[0])[k] = states[static_cast<size_t>(n + k)];
    for (int64_t j = 0; j < n; ++j) static_cast<float*>(call.results[1])[j] = state(last(t), j);
  }
};

Evidence tested(const RnnKernel& kernel) {
  GateOptions options;
  options.seed = 5;
  const SizesToTry all = test::sizes_for(recurrence, {"t", "n"}, 100);
  options.sizes = all.sizes;
  options.thorough = all.thorough;
  return test_numerically(ir::parse(recurrence), kernel, options);
}

TEST(GateOnRecurrences, RightOnesAreTested) {
  const Evidence evidence = tested({});
  EXPECT_EQ(evidence.verdict, Verdict::tested) << evidence.text;
}

TEST(GateOnRecurrences, WrongOnesAreRefuted) {
  using At = RnnKernel::At;
  const auto refuted = [](const char* what, const RnnKernel& kernel) {
    const Evidence evidence = tested(kernel);
    EXPECT_EQ(evidence.verdict, Verdict::refuted) << what << ": " << evidence.text;
  };
  refuted("times in another order", {.input_time = [](const At& x) { return x.t - 1 - x.time; }});
  refuted("the input of the step before",
          {.input_time = [](const At& x) { return std::max<int64_t>(x.time - 1, 0); }});
  refuted("a stale state", {.state_time = [](const At& x) { return std::max<int64_t>(x.time - 1, 0); }});
  refuted("the first state, always", {.state_time = [](const At&) { return int64_t{0}; }});
  refuted("the last term twice", {.weight_row = [](const At& x) { return std::min(x.k + 1, x.n - 1); }});
  refuted("the weights of the last step",
          {.weight_row = [](const At& x) { return x.time + 1 == x.t ? x.n - 1 - x.k : x.k; }});
  refuted("one step too few", {.last = [](int64_t t) { return t - 1; }});
  refuted("no bias in the first step", {.first_bias = 1});
}

}  // namespace
}  // namespace axrun::verify
