// Wrong kernels, one mistake each: the gate must refuse every one of them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <csignal>
#include <cstdio>
#include <memory>
#include <ostream>

#include "ir/types.h"
#include "tests/verify/gate_kernels.h"
#include "verify/numeric_gate.h"

namespace axrun::verify::test {
namespace {

using At = ProductKernel::At;

struct Mutant {
  std::string what;
  GateCandidate candidate;
};

/// Assigns one member of a kernel.
template <typename Kernel, typename Member, typename Value>
Mutant with(std::string what, Member Kernel::*member, Value value) {
  Kernel kernel;
  kernel.*member = value;
  return {std::move(what), kernel};
}

float as_f16(float x) {
  return static_cast<float>(ir::round_to(ir::ElementType::f16, static_cast<double>(x)));
}
float as_bf16(float x) {
  return static_cast<float>(ir::round_to(ir::ElementType::bf16, static_cast<double>(x)));
}
float without_denormals(float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; }
float relu(float x) { return x > 0 || x != x ? x : 0.0f; }
int64_t other_lane(int64_t j, int64_t n) { return j / 8 * 8 + 8 <= n ? j ^ 1 : j; }

std::vector<Mutant> product_mutants() {
  using K = ProductKernel;
  std::vector<Mutant> all;
  auto term = [&](const char* what, bool (*skips)(const At&)) {
    all.push_back(with("left out: " + std::string(what), &K::skips_term, skips));
  };
  term("the last term", [](const At& x) { return x.p == x.k - 1; });
  term("the first term", [](const At& x) { return x.p == 0; });
  term("a term in the middle", [](const At& x) { return x.p == x.k / 2; });
  term("terms beyond a multiple of 4", [](const At& x) { return x.p >= x.k / 4 * 4; });
  term("terms beyond a multiple of 16", [](const At& x) { return x.p >= x.k / 16 * 16 && x.k > 16; });
  term("a term where n mod 16 is 15", [](const At& x) { return x.n % 16 == 15 && x.p == 0; });
  term("a term of the last row", [](const At& x) { return x.i == x.m - 1 && x.p == 0; });
  term("a term of the last column where n mod 8 is 1",
       [](const At& x) { return x.n % 8 == 1 && x.j == x.n - 1 && x.p == 0; });
  term("the last term where k mod 4 is 3", [](const At& x) { return x.k % 4 == 3 && x.p == x.k - 1; });
  term("a term of one element in the middle",
       [](const At& x) { return x.i == x.m / 2 && x.j == x.n / 2 && x.p == 0; });
  term("a term of row 16", [](const At& x) { return x.i == 16 && x.p == 0; });
  term("a term where m is 1", [](const At& x) { return x.m == 1 && x.p == 0; });
  auto result = [&](const char* what, bool (*skips)(const At&)) {
    all.push_back(with("not written: " + std::string(what), &K::skips_result, skips));
  };
  result("the last column", [](const At& x) { return x.j == x.n - 1; });
  result("the last row", [](const At& x) { return x.i == x.m - 1; });
  result("columns beyond a multiple of 16", [](const At& x) { return x.j >= x.n / 16 * 16; });
  result("rows beyond a multiple of 4", [](const At& x) { return x.i >= x.m / 4 * 4; });
  result("lane 15 of each vector", [](const At& x) { return x.j % 16 == 15; });
  result("the very last element", [](const At& x) { return x.i == x.m - 1 && x.j == x.n - 1; });
  auto index = [&](const char* what, std::function<int64_t(const At&)> K::*member, int64_t (*at)(const At&)) {
    all.push_back(with(what, member, at));
  };
  index("a's next row", &K::a_row, [](const At& x) { return std::min(x.i + 1, x.m - 1); });
  index("a's row 0 in tail rows", &K::a_row, [](const At& x) { return x.i < x.m / 4 * 4 ? x.i : 0; });
  index("a's next term", &K::a_term, [](const At& x) { return std::min(x.p + 1, x.k - 1); });
  index("b's next term", &K::b_term, [](const At& x) { return std::min(x.p + 1, x.k - 1); });
  index("b's terms backwards", &K::b_term, [](const At& x) { return x.k - 1 - x.p; });
  index("b's last term twice", &K::b_term,
        [](const At& x) { return std::min(x.p, std::max<int64_t>(x.k - 2, 0)); });
  index("two lanes swapped", &K::b_column, [](const At& x) { return other_lane(x.j, x.n); });
  index("b's first column in the tail", &K::b_column,
        [](const At& x) { return x.j < x.n / 16 * 16 ? x.j : 0; });
  index("b's last column clamped one early", &K::b_column,
        [](const At& x) { return std::min(x.j, std::max<int64_t>(x.n - 2, 0)); });
  index("bias of the next channel", &K::bias_column, [](const At& x) { return (x.j + 1) % x.n; });
  index("bias of channel 0", &K::bias_column, [](const At&) { return int64_t{0}; });
  index("bias of the row", &K::bias_column, [](const At& x) { return x.i % x.n; });
  index("bias of swapped lanes", &K::bias_column, [](const At& x) { return other_lane(x.j, x.n); });
  auto epilogue = [&](const char* what, float (*f)(float, float)) {
    all.push_back(with("epilogue: " + std::string(what), &K::epilogue, f));
  };
  epilogue("bias after relu", [](float s, float b) { return relu(s) + b; });
  epilogue("no bias", [](float s, float) { return relu(s); });
  epilogue("bias twice", [](float s, float b) { return relu(s + b + b); });
  epilogue("bias subtracted", [](float s, float b) { return relu(s - b); });
  epilogue("no relu", [](float s, float b) { return s + b; });
  epilogue("magnitude for relu", [](float s, float b) { return std::fabs(s + b); });
  epilogue("minimum for maximum", [](float s, float b) { return nan_min(s + b, 0); });
  epilogue("leaky", [](float s, float b) { return s + b > 0 ? s + b : 1e-3f * (s + b); });
  epilogue("clipped at 6", [](float s, float b) { return nan_min(relu(s + b), 6); });
  epilogue("NaN swallowed", [](float s, float b) { return std::fmax(s + b, 0.0f); });
  epilogue("infinity clipped", [](float s, float b) { return nan_min(relu(s + b), 3.4028235e38f); });
  epilogue("result in bf16", [](float s, float b) { return as_bf16(relu(s + b)); });
  epilogue("result in f16", [](float s, float b) { return as_f16(relu(s + b)); });
  epilogue("one unit in the last place up", [](float s, float b) {
    const float x = relu(s + b);
    return x > 0 ? std::nextafter(x, INFINITY) : x;
  });
  epilogue("denormal results flushed", [](float s, float b) { return without_denormals(relu(s + b)); });
  epilogue("a millionth too large", [](float s, float b) { return relu(s + b) * 1.000001f; });
  auto input = [&](const char* what, float (*f)(float)) {
    all.push_back(with("operands: " + std::string(what), &K::input, f));
  };
  input("in bf16", as_bf16);
  input("in f16", as_f16);
  input("denormals flushed", without_denormals);
  input("NaN as zero", [](float x) { return x != x ? 0.0f : x; });
  input("infinity as the largest number",
        [](float x) { return std::clamp(x, -3.4028235e38f, 3.4028235e38f); });
  input("magnitudes", [](float x) { return std::fabs(x); });
  auto sum = [&](const char* what, float (*f)(float, float, float)) {
    all.push_back(with("sum: " + std::string(what), &K::accumulate, f));
  };
  sum("in f16", [](float s, float a, float b) { return as_f16(s + a * b); });
  sum("in bf16", [](float s, float a, float b) { return as_bf16(s + a * b); });
  sum("products in f16", [](float s, float a, float b) { return s + as_f16(a * b); });
  sum("zeros skipped", [](float s, float a, float b) { return a == 0 ? s : s + a * b; });
  sum("of differences", [](float s, float a, float b) { return s + (a - b); });
  sum("with another sign", [](float s, float a, float b) { return s - a * b; });
  sum("saturating", [](float s, float a, float b) { return std::clamp(s + a * b, -1e30f, 1e30f); });
  auto start = [&](const char* what, float (*f)(const At&, float)) {
    all.push_back(with("start: " + std::string(what), &K::start, f));
  };
  start("the last element's sum", [](const At&, float last) { return last; });
  start("the last element's sum in row 1", [](const At& x, float last) { return x.i == 1 ? last : 0.0f; });
  start("one", [](const At&, float) { return 1.0f; });
  start("something small", [](const At&, float) { return 1e-4f; });
  auto afterwards = [&](const char* what, std::function<void(const GateCall&)> f) {
    all.push_back(with(what, &K::afterwards, std::move(f)));
  };
  afterwards("tail lanes hold the lane before", [](const GateCall& call) {
    const int64_t m = call.sizes.at("m"), n = call.sizes.at("n");
    auto* y = static_cast<float*>(call.results[0]);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = std::max<int64_t>(n / 16 * 16, 1); j < n; ++j) y[i * n + j] = y[i * n + j - 1];
    }
  });
  afterwards("tail lanes hold garbage", [](const GateCall& call) {
    const int64_t m = call.sizes.at("m"), n = call.sizes.at("n");
    for (int64_t j = n / 8 * 8; j < n; ++j) static_cast<float*>(call.results[0])[(m - 1) * n + j] = 0.125f;
  });
  afterwards("the last rows are swapped", [](const GateCall& call) {
    const int64_t m = call.sizes.at("m"), n = call.sizes.at("n");
    auto* y = static_cast<float*>(call.results[0]);
    if (m > 1) std::swap_ranges(y + (m - 2) * n, y + (m - 1) * n, y + (m - 1) * n);
  });
  afterwards("rounding mode left changed", [](const GateCall&) { std::fesetround(FE_DOWNWARD); });
  auto calls = std::make_shared<int>(0);
  all.push_back({"the second call adds to the first", [calls](const GateCall& call) {
                   ProductKernel kernel;
                   const float left = ++*calls > 1 ? 0.5f : 0.0f;
                   kernel.start = [left](const At&, float) { return left; };
                   kernel(call);
                 }});
  return all;
}

std::vector<Mutant> softmax_mutants() {
  using K = SoftmaxKernel;
  using S = SoftmaxKernel::At;
  std::vector<Mutant> all;
  all.push_back(with("softmax: maximum without the last", &K::out_of_maximum,
                     [](const S& x) { return x.j == x.c - 1 && x.c > 1; }));
  all.push_back(with("softmax: maximum without the tail", &K::out_of_maximum,
                     [](const S& x) { return x.j >= x.c / 8 * 8 && x.c >= 8; }));
  all.push_back(
      with("softmax: sum without the last", &K::out_of_sum, [](const S& x) { return x.j == x.c - 1; }));
  all.push_back(with("softmax: sum without the first of row 1", &K::out_of_sum,
                     [](const S& x) { return x.j == 0 && x.i == 1; }));
  all.push_back(
      with("softmax: sum without the tail", &K::out_of_sum, [](const S& x) { return x.j >= x.c / 16 * 16; }));
  all.push_back(with("softmax: last not written", &K::skips_result,
                     [](const S& x) { return x.j == x.c - 1 && x.i == x.n - 1; }));
  all.push_back(with("softmax: maximum not subtracted", &K::subtracted, [](float) { return 0.0f; }));
  all.push_back(with("softmax: maximum starts at 0", &K::first, 0.0f));
  all.push_back(with("softmax: maximum starts at -1000", &K::first, -1000.0f));
  all.push_back(with("softmax: NaN as zero", &K::divide,
                     [](float a, float b) { return a / b == a / b ? a / b : 0.0f; }));
  all.push_back(
      with("softmax: coarse exp", &K::exponential, [](float x) { return std::exp(x) * 1.00001f + 1e-6f; }));
  all.push_back(with("softmax: exp of x / 2", &K::exponential, [](float x) { return std::exp(x * 0.5f); }));
  all.push_back(with("softmax: powers of 2", &K::exponential, [](float x) { return std::exp2(x); }));
  all.push_back(with("softmax: exp in f16", &K::exponential, [](float x) { return as_f16(std::exp(x)); }));
  all.push_back(with("softmax: exp flushed early", &K::exponential,
                     [](float x) { return x < -20 ? 0.0f : std::exp(x); }));
  all.push_back(with("softmax: sum kept from row to row", &K::keeps_sum, true));
  all.push_back(with("softmax: not divided", &K::divide, [](float a, float) { return a; }));
  all.push_back(with("softmax: divided by sum + 1e-6", &K::divide,
                     [](float a, float b) { return a / (b + 1e-6f * b + 1e-6f); }));
  all.push_back(
      with("softmax: coarse reciprocal", &K::divide, [](float a, float b) { return a * as_f16(1 / b); }));
  return all;
}

std::vector<Mutant> layer_norm_mutants() {
  using K = LayerNormKernel;
  std::vector<Mutant> all;
  all.push_back(with("layer norm: variance over c - 1", &K::variance_of,
                     [](float q, int64_t c) { return q / static_cast<float>(c - 1); }));
  all.push_back(with("layer norm: mean over c + 1", &K::mean_of,
                     [](float s, int64_t c) { return s / static_cast<float>(c + 1); }));
  all.push_back(with("layer norm: no mean", &K::mean_of, [](float, int64_t) { return 0.0f; }));
  all.push_back(with("layer norm: epsilon left out", &K::deviation, [](float v) { return std::sqrt(v); }));
  all.push_back(with("layer norm: epsilon outside the root", &K::deviation,
                     [](float v) { return std::sqrt(v) + 1e-5f; }));
  all.push_back(
      with("layer norm: another epsilon", &K::deviation, [](float v) { return std::sqrt(v + 1e-6f); }));
  all.push_back(with("layer norm: no root", &K::deviation, [](float v) { return v + 1e-5f; }));
  all.push_back(
      with("layer norm: coarse root", &K::deviation, [](float v) { return as_bf16(std::sqrt(v + 1e-5f)); }));
  all.push_back(
      with("layer norm: gamma of the next", &K::gamma_at, [](int64_t j, int64_t c) { return (j + 1) % c; }));
  all.push_back(with("layer norm: gamma of swapped lanes", &K::gamma_at, other_lane));
  all.push_back(
      with("layer norm: beta of the first", &K::beta_at, [](int64_t, int64_t) { return int64_t{0}; }));
  all.push_back(with("layer norm: sums without the last", &K::left_out, 1));
  return all;
}

std::vector<Mutant> gelu_mutants() {
  using K = GeluKernel;
  std::vector<Mutant> all;
  auto function = [&](const char* what, float (*f)(float)) {
    all.push_back(with("gelu: " + std::string(what), &K::function, f));
  };
  function("by tanh",
           [](float x) { return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x))); });
  function("by a logistic", [](float x) { return x / (1 + std::exp(-1.702f * x)); });
  function("another constant", [](float x) { return x * 0.5f * (1 + std::erf(x * 0.70711f)); });
  function("a half that is not", [](float x) { return x * 0.50001f * (1 + std::erf(x * 0.70710678f)); });
  function("erf alone", [](float x) { return x * 0.5f * std::erf(x * 0.70710678f); });
  function("NaN as zero", [](float x) { return x != x ? 0.0f : x * 0.5f * (1 + std::erf(x * 0.70710678f)); });
  function("zero below -3",
           [](float x) { return x < -3 ? 0.0f : x * 0.5f * (1 + std::erf(x * 0.70710678f)); });
  function("denormals flushed", [](float x) {
    return without_denormals(without_denormals(x) * 0.5f * (1 + std::erf(x * 0.70710678f)));
  });
  function("clipped at 10",
           [](float x) { return std::min(x * 0.5f * (1 + std::erf(x * 0.70710678f)), 10.0f); });
  all.push_back(
      with("gelu: next element added", &K::other, [](int64_t i, int64_t n) { return (i + 1) % n; }));
  all.push_back(with("gelu: lanes swapped", &K::other, other_lane));
  all.push_back(with("gelu: last not written where n mod 16 is 15", &K::skips,
                     [](int64_t i, int64_t n) { return n % 16 == 15 && i == n - 1; }));
  all.push_back(
      with("gelu: tail not written", &K::skips, [](int64_t i, int64_t n) { return i >= n / 8 * 8; }));
  return all;
}

std::vector<Mutant> mask_mutants() {
  using K = MaskKernel;
  std::vector<Mutant> all;
  all.push_back(with("mask: the other side", &K::chosen,
                     [](const unsigned char* mask, int64_t j, int64_t) { return mask[j] == 0; }));
  all.push_back(with("mask: the next element's", &K::chosen,
                     [](const unsigned char* mask, int64_t j, int64_t c) { return mask[(j + 1) % c] != 0; }));
  all.push_back(with("mask: the first element's", &K::chosen,
                     [](const unsigned char* mask, int64_t, int64_t) { return mask[0] != 0; }));
  all.push_back(
      with("mask: none in the tail", &K::chosen,
           [](const unsigned char* mask, int64_t j, int64_t c) { return mask[j] != 0 || j >= c / 8 * 8; }));
  all.push_back(with("mask: another filler", &K::filler, -INFINITY));
  all.push_back(with("mask: signs of zero lost", &K::scale, [](float x) { return x * 0.125f + 0.0f; }));
  all.push_back(with("mask: denormals flushed", &K::scale,
                     [](float x) { return std::copysign(without_denormals(x * 0.125f), x); }));
  all.push_back(with("mask: not scaled", &K::scale, [](float x) { return x; }));
  return all;
}

std::vector<Mutant> reduction_mutants(const std::string& monoid, int axis) {
  using K = ReductionKernel;
  K right;
  right.axis = axis;
  right.first = monoid == "sum" ? 0 : monoid == "max" ? -INFINITY : INFINITY;
  if (monoid == "max") right.combine = nan_max;
  if (monoid == "min") right.combine = nan_min;
  const std::string name = monoid + " over axis " + std::to_string(axis) + ": ";
  std::vector<Mutant> all;
  auto add = [&](const std::string& what, K kernel) { all.push_back({name + what, kernel}); };
  K kernel = right;
  kernel.left_out = 1;
  add("without the last", kernel);
  kernel = right;
  kernel.step = 2;
  add("every other element", kernel);
  kernel = right;
  kernel.first = monoid == "sum" ? 1e-3f : 0;
  add("another start", kernel);
  if (monoid != "sum") {
    kernel = right;
    if (monoid == "max") {
      kernel.combine = [](float a, float b) { return std::fmax(a, b); };
    } else {
      kernel.combine = [](float a, float b) { return std::fmin(a, b); };
    }
    add("NaN swallowed", kernel);
  } else {
    kernel = right;
    kernel.combine = [](float a, float b) { return as_bf16(a + b); };
    add("in bf16", kernel);
  }
  return all;
}

GateOptions options_for(const std::string& text, const std::vector<std::string>& names) {
  GateOptions options;
  options.seed = 7;
  const SizesToTry all = sizes_for(text, names, 200);
  options.sizes = all.sizes;
  options.thorough = all.thorough;
  return options;
}

int refused = 0;

void expect_refuted(const std::string& text, const std::vector<Mutant>& mutants, const GateOptions& options) {
  const ir::Program program = ir::parse(text);
  for (const Mutant& mutant : mutants) {
    const Evidence evidence = test_numerically(program, mutant.candidate, options);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(evidence.verdict, Verdict::refuted) << mutant.what << ": " << evidence.text;
    refused += evidence.verdict == Verdict::refuted ? 1 : 0;
  }
}

TEST(GateMutants, AreRefused) {
  refused = 0;
  expect_refuted(product_text, product_mutants(), options_for(product_text, {"m", "n", "k"}));
  expect_refuted(softmax_text, softmax_mutants(), options_for(softmax_text, {"n", "c"}));
  expect_refuted(layer_norm_text, layer_norm_mutants(), options_for(layer_norm_text, {"n", "c"}));
  expect_refuted(gelu_text, gelu_mutants(), options_for(gelu_text, {"n"}));
  expect_refuted(mask_text, mask_mutants(), options_for(mask_text, {"n", "c"}));
  for (const char* monoid : {"sum", "max", "min"}) {
    for (int axis = 0; axis < 3; ++axis)
      expect_refuted(reduction_text(monoid, axis), reduction_mutants(monoid, axis),
                     options_for(reduction_text(monoid, axis), {"a", "b", "c"}));
  }
  std::printf("%d wrong kernels refused, seed %d\n", refused, 7);
  EXPECT_GE(refused, 60);
}

/// Mistakes at some extents only are found where few trials are done at most sizes.
TEST(GateMutants, AreRefusedWhereSizesCountAsLarge) {
  GateOptions options = options_for(product_text, {"m", "n", "k"});
  options.large_bytes = 0;
  refused = 0;
  const std::vector<Mutant> mutants = product_mutants();
  expect_refuted(product_text, mutants, options);
  EXPECT_EQ(refused, static_cast<int>(mutants.size()));
}

/// Of long sums few elements are compared.
TEST(GateMutants, AreRefusedWhereFewElementsAreCompared) {
  GateOptions options = options_for(product_text, {"m", "n", "k"});
  options.work = 1;
  refused = 0;
  const std::vector<Mutant> mutants = product_mutants();
  expect_refuted(product_text, mutants, options);
  EXPECT_EQ(refused, static_cast<int>(mutants.size()));
}

/// How a process ends in which the gate runs.
enum class Ending { accepted, refused, segmentation_fault, other };
std::ostream& operator<<(std::ostream& out, Ending ending) {
  constexpr const char* names[] = {"accepted", "refused", "segmentation fault", "other"};
  return out << names[static_cast<size_t>(ending)];
}

Ending ending_of(const GateCandidate& candidate, int only_trial = -1) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    GateOptions options = options_for(gelu_text, {"n"});
    options.only_trial = only_trial;
    _exit(test_numerically(ir::parse(gelu_text), candidate, options).accepted() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? Ending::accepted : Ending::refused;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? Ending::segmentation_fault : Ending::other;
}

volatile float sink;

TEST(GateMutants, WhatLeavesItsMemoryFaults) {
  auto touching = [](auto touch) {
    return [touch](const GateCall& call) {
      GeluKernel()(call);
      touch(call, call.sizes.at("n"));
    };
  };
  auto operand = [](const GateCall& call, size_t k) {
    return const_cast<volatile float*>(static_cast<const volatile float*>(call.operands[k]));
  };
  auto result = [](const GateCall& call) { return static_cast<volatile float*>(call.results[0]); };
  // In these trials the result ends at a guard page, or begins after one.
  constexpr int ends = 1, begins = 2;
  EXPECT_EQ(ending_of(GeluKernel()), Ending::accepted);
  const auto after = touching([=](const GateCall& call, int64_t n) { result(call)[n] = 1; });
  EXPECT_EQ(ending_of(after, ends), Ending::segmentation_fault);
  EXPECT_EQ(ending_of(after, begins), Ending::refused);
  EXPECT_EQ(ending_of(after), Ending::refused);
  const auto farther =
      touching([=](const GateCall& call, int64_t n) { result(call)[(n + 16) / 16 * 16] = 1; });
  EXPECT_EQ(ending_of(farther, ends), Ending::segmentation_fault);
  EXPECT_EQ(ending_of(farther, begins), Ending::refused);
  const auto before = touching([=](const GateCall& call, int64_t) { result(call)[-1] = 1; });
  EXPECT_EQ(ending_of(before, begins), Ending::segmentation_fault);
  EXPECT_EQ(ending_of(before, ends), Ending::refused);
  EXPECT_EQ(ending_of(touching([=](const GateCall& call, int64_t n) { sink = operand(call, 0)[n]; })),
            Ending::segmentation_fault);
  EXPECT_EQ(ending_of(touching([=](const GateCall& call, int64_t n) { sink = operand(call, 1)[n + 3]; })),
            Ending::segmentation_fault);
  EXPECT_EQ(ending_of(touching([=](const GateCall& call, int64_t) { sink = operand(call, 1)[-1]; })),
            Ending::segmentation_fault);
  EXPECT_EQ(ending_of(touching([=](const GateCall& call, int64_t) { operand(call, 0)[0] = 0; })),
            Ending::segmentation_fault);
}

}  // namespace
}  // namespace axrun::verify::test
