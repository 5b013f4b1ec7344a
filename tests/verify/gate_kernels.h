#pragma once

// Kernels in plain C++ with hooks, right ones and wrong ones, and the expressions that they compute.

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ir/program.h"
#include "ir/text.h"
#include "verify/gate_sizes.h"
#include "verify/numeric_gate.h"

namespace axrun::verify::test {

/// What kernels for these sizes (from 1 on) are tested at where few rows and columns are at hand.
inline SizesToTry sizes_for(const std::string& text, const std::vector<std::string>& names, int64_t high) {
  std::vector<ir::loop::Size> ranges;
  SizeAssignment at_hand;
  for (const std::string& name : names) {
    ranges.push_back({name, 1, high, 1});
    at_hand[name] = std::min<int64_t>(high, 5 + static_cast<int64_t>(at_hand.size()));
  }
  return sizes_to_try(ir::parse(text), ranges, at_hand);
}

inline const char* const product_text = R"(program Product(a: f32[m, k], b: f32[k, n], bias: f32[n]) -> (y) {
  c: f32[m, n] = reduce sum (i: m, j: n; p: k) { a[i, p] * b[p, j] }
  y: f32[m, n] = map (i: m, j: n) { max(c[i, j] + bias[j], 0:f32) }
})";

/// A product with bias and relu, one hook for each thing that can go wrong.
struct ProductKernel {
  struct At {
    int64_t i, j, p, m, n, k;
  };
  std::function<bool(const At&)> skips_term = [](const At&) { return false; };
  std::function<bool(const At&)> skips_result = [](const At&) { return false; };
  std::function<int64_t(const At&)> a_row = [](const At& x) { return x.i; };
  std::function<int64_t(const At&)> a_term = [](const At& x) { return x.p; };
  std::function<int64_t(const At&)> b_term = [](const At& x) { return x.p; };
  std::function<int64_t(const At&)> b_column = [](const At& x) { return x.j; };
  std::function<int64_t(const At&)> bias_column = [](const At& x) { return x.j; };
  std::function<float(float)> input = [](float x) { return x; };
  std::function<float(float sum, float left, float right)> accumulate =
      [](float sum, float left, float right) { return sum + left * right; };
  std::function<float(float sum, float bias)> epilogue = [](float sum, float bias) {
    const float x = sum + bias;
    return x > 0 || x != x ? x : 0.0f;
  };
  std::function<float(const At&, float last)> start = [](const At&, float) { return 0.0f; };
  std::function<void(const GateCall&)> afterwards = [](const GateCall&) {};

  void operator()(const GateCall& call) const {
    const int64_t m = call.sizes.at("m"), n = call.sizes.at("n"), k = call.sizes.at("k");
    const auto* a = static_cast<const float*>(call.operands[0]);
    const auto* b = static_cast<const float*>(call.operands[1]);
    const auto* bias = static_cast<const float*>(call.operands[2]);
    auto* y = static_cast<float*>(call.results[0]);
    float sum = 0;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        At at{i, j, 0, m, n, k};
        sum = start(at, sum);
        for (at.p = 0; at.p < k; ++at.p) {
          if (skips_term(at)) continue;
          sum =
              accumulate(sum, input(a[a_row(at) * k + a_term(at)]), input(b[b_term(at) * n + b_column(at)]));
        }
        at.p = 0;
        if (!skips_result(at)) y[i * n + j] = epilogue(sum, bias[bias_column(at)]);
      }
    }
    afterwards(call);
  }
};

inline const char* const softmax_text = R"(program Softmax(x: f32[n, c]) -> (y) {
  m: f32[n] = reduce max (i: n; r: c) { x[i, r] }
  s: f32[n] = reduce sum (i: n; r: c) { exp(x[i, r] - m[i]) }
  y: f32[n, c] = map (i: n, j: c) { exp(x[i, j] - m[i]) / s[i] }
})";

struct SoftmaxKernel {
  struct At {
    int64_t i, j, n, c;
  };
  std::function<bool(const At&)> out_of_maximum = [](const At&) { return false; };
  std::function<bool(const At&)> out_of_sum = [](const At&) { return false; };
  std::function<bool(const At&)> skips_result = [](const At&) { return false; };
  std::function<float(float)> exponential = [](float x) { return std::exp(x); };
  std::function<float(float, float)> larger = [](float a, float b) { return a > b || a != a ? a : b; };
  std::function<float(float, float)> divide = [](float a, float b) { return a / b; };
  std::function<float(float)> subtracted = [](float maximum) { return maximum; };
  float first = -INFINITY;
  bool keeps_sum = false;

  void operator()(const GateCall& call) const {
    const int64_t n = call.sizes.at("n"), c = call.sizes.at("c");
    const auto* x = static_cast<const float*>(call.operands[0]);
    auto* y = static_cast<float*>(call.results[0]);
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      float maximum = first;
      for (int64_t j = 0; j < c; ++j) {
        if (!out_of_maximum({i, j, n, c})) maximum = larger(maximum, x[i * c + j]);
      }
      maximum = subtracted(maximum);
      if (!keeps_sum) sum = 0;
      for (int64_t j = 0; j < c; ++j) {
        if (!out_of_sum({i, j, n, c})) sum += exponential(x[i * c + j] - maximum);
      }
      for (int64_t j = 0; j < c; ++j) {
        if (!skips_result({i, j, n, c})) y[i * c + j] = divide(exponential(x[i * c + j] - maximum), sum);
      }
    }
  }
};

inline const char* const layer_norm_text =
    R"(program LayerNorm(x: f32[n, c], gamma: f32[c], beta: f32[c]) -> (y) {
  s: f32[n] = reduce sum (i: n; r: c) { x[i, r] }
  mean: f32[n] = map (i: n) { s[i] / cast(f32, dim(c)) }
  q: f32[n] = reduce sum (i: n; r: c) { (x[i, r] - mean[i]) * (x[i, r] - mean[i]) }
  y: f32[n, c] = map (i: n, j: c) {
    (x[i, j] - mean[i]) / sqrt(q[i] / cast(f32, dim(c)) + 1e-5:f32) * gamma[j] + beta[j]
  }
})";

struct LayerNormKernel {
  std::function<float(float, int64_t)> mean_of = [](float sum, int64_t c) {
    return sum / static_cast<float>(c);
  };
  std::function<float(float, int64_t)> variance_of = mean_of;
  std::function<float(float)> deviation = [](float variance) { return std::sqrt(variance + 1e-5f); };
  std::function<int64_t(int64_t j, int64_t c)> gamma_at = [](int64_t j, int64_t) { return j; };
  std::function<int64_t(int64_t j, int64_t c)> beta_at = [](int64_t j, int64_t) { return j; };
  int64_t left_out = 0;  ///< of the sums, at the end
  bool reciprocal = false;

  void operator()(const GateCall& call) const {
    const int64_t n = call.sizes.at("n"), c = call.sizes.at("c");
    const auto* x = static_cast<const float*>(call.operands[0]);
    const auto* gamma = static_cast<const float*>(call.operands[1]);
    const auto* beta = static_cast<const float*>(call.operands[2]);
    auto* y = static_cast<float*>(call.results[0]);
    for (int64_t i = 0; i < n; ++i) {
      float lanes[8] = {};
      for (int64_t j = 0; j < c - left_out; ++j) lanes[j % 8] += x[i * c + j];
      float sum = 0;
      for (float lane : lanes) sum += lane;
      const float mean = mean_of(sum, c);
      float squares = 0;
      for (int64_t j = 0; j < c - left_out; ++j) {
        const float d = x[i * c + j] - mean;
        squares = std::fma(d, d, squares);
      }
      const float sigma = deviation(variance_of(squares, c));
      for (int64_t j = 0; j < c; ++j) {
        const float d = x[i * c + j] - mean;
        const float scaled = reciprocal ? d * (1 / sigma) : d / sigma;
        y[i * c + j] = std::fma(scaled, gamma[gamma_at(j, c)], beta[beta_at(j, c)]);
      }
    }
  }
};

inline const char* const gelu_text = R"(program Gelu(x: f32[n], r: f32[n]) -> (y) {
  y: f32[n] = map (i: n) {
    (x[i] + r[i]) * 0.5:f32 * (1:f32 + erf((x[i] + r[i]) * 0.70710678:f32))
  }
})";

struct GeluKernel {
  std::function<float(float)> function = [](float x) { return x * 0.5f * (1 + std::erf(x * 0.70710678f)); };
  std::function<int64_t(int64_t i, int64_t n)> other = [](int64_t i, int64_t) { return i; };
  std::function<bool(int64_t i, int64_t n)> skips = [](int64_t, int64_t) { return false; };

  void operator()(const GateCall& call) const {
    const int64_t n = call.sizes.at("n");
    const auto* x = static_cast<const float*>(call.operands[0]);
    const auto* r = static_cast<const float*>(call.operands[1]);
    auto* y = static_cast<float*>(call.results[0]);
    for (int64_t i = 0; i < n; ++i) {
      if (!skips(i, n)) y[i] = function(x[i] + r[other(i, n)]);
    }
  }
};

inline const char* const mask_text = R"(program Mask(x: f32[n, c], mask: bool[c]) -> (y) {
  y: f32[n, c] = map (i: n, j: c) { select(mask[j], x[i, j] * 0.125:f32, -10000:f32) }
})";

struct MaskKernel {
  std::function<bool(const unsigned char* mask, int64_t j, int64_t c)> chosen =
      [](const unsigned char* mask, int64_t j, int64_t) { return mask[j] != 0; };
  std::function<float(float)> scale = [](float x) { return x * 0.125f; };
  float filler = -10000;

  void operator()(const GateCall& call) const {
    const int64_t n = call.sizes.at("n"), c = call.sizes.at("c");
    const auto* x = static_cast<const float*>(call.operands[0]);
    const auto* mask = static_cast<const unsigned char*>(call.operands[1]);
    auto* y = static_cast<float*>(call.results[0]);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < c; ++j) y[i * c + j] = chosen(mask, j, c) ? scale(x[i * c + j]) : filler;
    }
  }
};

/// One of three axes of x is reduced by `monoid` (sum, min or max).
inline std::string reduction_text(const std::string& monoid, int axis) {
  const std::string head = "program R(x: f32[a, b, c]) -> (y) {\n  y: f32";
  const std::string body = ") { x[i, j, l] }\n}";
  if (axis == 0) return head + "[b, c] = reduce " + monoid + " (j: b, l: c; i: a" + body;
  if (axis == 1) return head + "[a, c] = reduce " + monoid + " (i: a, l: c; j: b" + body;
  return head + "[a, b] = reduce " + monoid + " (i: a, j: b; l: c" + body;
}

struct ReductionKernel {
  int axis = 2;
  float first = 0;
  std::function<float(float, float)> combine = [](float a, float b) { return a + b; };
  int64_t left_out = 0;
  int64_t step = 1;

  void operator()(const GateCall& call) const {
    const int64_t extents[] = {call.sizes.at("a"), call.sizes.at("b"), call.sizes.at("c")};
    const int64_t strides[] = {extents[1] * extents[2], extents[2], 1};
    const auto* x = static_cast<const float*>(call.operands[0]);
    auto* y = static_cast<float*>(call.results[0]);
    const int outer = axis == 0 ? 1 : 0;
    const int inner = axis == 2 ? 1 : 2;
    for (int64_t i = 0; i < extents[outer]; ++i) {
      for (int64_t j = 0; j < extents[inner]; ++j) {
        float state = first;
        for (int64_t r = 0; r < extents[axis] - left_out; r += step)
          state = combine(state, x[i * strides[outer] + j * strides[inner] + r * strides[axis]]);
        *y++ = state;
      }
    }
  }
};

inline float nan_max(float a, float b) { return a > b || a != a ? a : b; }
inline float nan_min(float a, float b) { return a < b || a != a ? a : b; }

}  // namespace axrun::verify::test
