// Emitted vector math against the evaluator of lane programs, to the bit.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "ir/lane/evaluate.h"
#include "ir/lane/math/math.h"
#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::Tensor;

/// Zeros, denormals, infinities, NaNs of either sign with payloads, neighbours of the functions' thresholds,
/// then floats of all magnitudes.
std::vector<uint32_t> inputs() {
  std::vector<uint32_t> bits;
  for (const uint32_t magnitude : {0x00000000U, 0x00000001U, 0x00000fffU, 0x007fffffU, 0x00800000U,
                                   0x7f7fffffU, 0x7f800000U, 0x7f800001U, 0x7fc00000U, 0x7fc001ffU}) {
    bits.push_back(magnitude);
    bits.push_back(magnitude | 0x80000000U);
  }
  for (const float threshold : {1e-3F, 0.125F, 0.2890625F, 1.0F, 2.125F, 3.875F, 8.9609375F, 10.0F, 87.33F,
                                88.72F, 89.0F, 103.97F, 104.0F}) {
    for (uint32_t k = 0; k < 64; ++k) {
      const uint32_t near = std::bit_cast<uint32_t>(threshold) - 32 + k;
      bits.push_back(near);
      bits.push_back(near | 0x80000000U);
    }
  }
  for (uint64_t all = 0; all <= UINT32_MAX; all += 65'521) bits.push_back(static_cast<uint32_t>(all));
  return bits;
}

std::vector<uint32_t> evaluated(const std::string& function, const std::vector<uint32_t>& bits) {
  std::vector<uint32_t> results(bits.size());
  ir::lane::Evaluator(ir::lane::find_math_function(function)->make()).run(bits, results);
  return results;
}

/// `expression` of x[64*t + v] gives `want` for inputs().
void expect_to_give(const std::string& expression, const std::vector<uint32_t>& want) {
  const std::vector<uint32_t> bits = inputs();
  const auto n = static_cast<int64_t>(bits.size());
  const std::string text = "loops f(n: 1..1000000) {\n input x: f32[n]\n output y: f32[n]\n" +
                           std::string(" for t < (n + 63) / 64 {\n  vector v < min(64, n - 64*t) {\n") +
                           "   y[64*t + v] = " + expression + "\n  }\n }\n}";
  Tensor x = Tensor::allocate(ir::ElementType::f32, {n});
  for (int64_t i = 0; i < n; ++i) x.as<float>()[i] = std::bit_cast<float>(bits[static_cast<size_t>(i)]);
  for (const jit::Target& target : code_targets()) {
    const auto code = jit::KernelCode::compile(ir::loop::parse(text), target, {});
    const Tensor y = run_code(code, {{"n", n}}, {x})[0];
    for (int64_t i = 0; i < n; ++i) {
      const float got = y.as<float>()[i], wanted = std::bit_cast<float>(want[static_cast<size_t>(i)]);
      if (std::isnan(wanted) && std::isnan(got)) continue;
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(wanted))
          << expression << " at 0x" << std::hex << bits[static_cast<size_t>(i)] << ", " << std::dec
          << target.vector_bytes << " bytes";
    }
  }
}

void expect_as_evaluated(const std::string& function) {
  expect_to_give(function + "(x[64*t + v])", evaluated(function, inputs()));
}

TEST(EmittedFunctions, Exp) { expect_as_evaluated("exp"); }
TEST(EmittedFunctions, Log) { expect_as_evaluated("log"); }
TEST(EmittedFunctions, Tanh) { expect_as_evaluated("tanh"); }
TEST(EmittedFunctions, Erf) { expect_as_evaluated("erf"); }

/// Several functions in a statement: the code of its vectors takes turns.
TEST(EmittedFunctions, ChainsOfFunctions) {
  const std::vector<uint32_t> x = inputs();
  const auto map = [](const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                      float (*f)(float, float)) {
    std::vector<uint32_t> results;
    for (size_t k = 0; k < a.size(); ++k)
      results.push_back(std::bit_cast<uint32_t>(f(std::bit_cast<float>(a[k]), std::bit_cast<float>(b[k]))));
    return results;
  };
  const auto one_more = map(evaluated("exp", x), x, [](float a, float) { return a + 1.0F; });
  expect_to_give("log(add(exp(x[64*t + v]), 1:f32))", evaluated("log", one_more));
  const auto curve = evaluated("tanh", evaluated("exp", x));
  expect_to_give("mul(x[64*t + v], tanh(exp(x[64*t + v])))",
                 map(x, curve, [](float a, float b) { return a * b; }));
  expect_to_give("sub(erf(x[64*t + v]), exp(x[64*t + v]))",
                 map(evaluated("erf", x), evaluated("exp", x), [](float a, float b) { return a - b; }));
}

/// Constants stay in registers as far as sums leave room: all of them, some, none.
TEST(EmittedFunctions, ConstantsBesideManySums) {
  for (const int64_t lanes : {16, 96, 192, 320, 480}) {
    const std::string n = std::to_string(lanes);
    const auto program =
        ir::loop::parse("loops f(m: 1..9) {\n input x: f32[m, " + n + "]\n output y: f32[" + n + "]\n" +
                        " allocate sums: f32[" + n + "] in registers\n vector z < " + n +
                        " {\n  sums[z] = 0:f32\n }\n" + " for i < m {\n  vector v < " + n +
                        " {\n   sums[v] += mul(exp(mul(x[i, v], 0.25:f32)), 3:f32)\n  }\n }\n" +
                        " vector w < " + n + " {\n  y[w] = sums[w]\n }\n}");
    const std::vector<Tensor> given = {small_integers({7, lanes}, 3)};
    const auto want = interpret(program, {{"m", 7}}, given).outputs;
    for (const jit::Target& target : code_targets()) {
      const auto got = run_code(jit::KernelCode::compile(program, target, {}), {{"m", 7}}, given);
      for (int64_t i = 0; i < lanes; ++i)
        ASSERT_NEAR(got[0].get_real(i), want[0].get_real(i), 1e-6 * want[0].get_real(i)) << n << " " << i;
    }
  }
}

/// Selections of zero become a mask on the instruction that made the other value.
TEST(EmittedFunctions, SelectionsOfZero) {
  const char* selections[] = {
      "select(less(x[v], 1:f32), add(x[v], z[v]), 0:f32)",
      "select(less(x[v], 1:f32), z[v], 0:f32)",
      "add(select(less(x[v], 1:f32), mul(x[v], z[v]), 0:f32), mul(x[v], z[v]))",
      "select(less(x[v], 1:f32), select(less(z[v], x[v]), sub(x[v], z[v]), 0:f32), 0:f32)",
      "select(less(sub(x[v], z[v]), 1:f32), sub(x[v], z[v]), 0:f32)",
  };
  for (const char* selection : selections) {
    const auto program = ir::loop::parse(
        "loops f(n: 1..50) {\n input x: f32[n]\n input z: f32[n]\n output y: f32[n]\n vector v < n {\n  y[v] "
        "= " +
        std::string(selection) + "\n }\n}");
    for (const int64_t n : {int64_t{1}, int64_t{8}, int64_t{16}, int64_t{37}}) {
      const std::vector<Tensor> given = {small_integers({n}, 1), small_integers({n}, 2)};
      const auto want = interpret(program, {{"n", n}}, given).outputs;
      for (const jit::Target& target : code_targets()) {
        const auto got = run_code(jit::KernelCode::compile(program, target, {}), {{"n", n}}, given);
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(got[0].get_real(i), want[0].get_real(i)) << selection;
      }
    }
  }
}

}  // namespace
}  // namespace axrun::tests
