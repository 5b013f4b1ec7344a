// Floats that are quantised: to the bit, and most of all where the quotient is nearly between two integers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "jit/rounded_quotients.h"
#include "tests/jit/emitted.h"

namespace axrun::tests {
namespace {

using ir::ElementType;
using ir::Tensor;

/// Numbers whose quotients are ties, or a few units in the last place from them, far beyond both ends, too.
Tensor near_ties(float scale) {
  std::vector<float> values = {0.0F,
                               -0.0F,
                               std::nanf(""),
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::lowest(),
                               std::numeric_limits<float>::denorm_min(),
                               std::numeric_limits<float>::min()};
  constexpr int most = 520, neighbours = 2;
  for (int k = -most; k <= most; ++k) {
    for (const float tie : {static_cast<float>(k) * scale, (static_cast<float>(k) + 0.5F) * scale}) {
      float x = tie;
      for (int n = 0; n < neighbours; ++n) x = std::nextafter(x, -INFINITY);
      for (int n = -neighbours; n <= neighbours; ++n, x = std::nextafter(x, INFINITY)) values.push_back(x);
    }
  }
  Tensor tensor = Tensor::allocate(ElementType::f32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) tensor.set_real(static_cast<int64_t>(i), values[i]);
  return tensor;
}

std::string number(float x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g:f32", static_cast<double>(x));
  return text;
}

void expect_quantised(float scale, int zero, const std::string& type, bool divides, bool relu = false) {
  const Tensor x = near_ties(divides ? scale : 1 / scale);
  const std::string read = relu ? "max(x[32*i0 + i1], 0:f32)" : "x[32*i0 + i1]";
  const std::string quotient = std::string(divides ? "div" : "mul") + "(" + read + ", " + number(scale) + ")";
  const std::string text = "loops t(n: 1..20000) {\n  input x: f32[n]\n  output z: " + type +
                           "[n]\n  for i0 < (n + 31) / 32 {\n    vector i1 < min(32, n - 32*i0) {\n"
                           "      z[32*i0 + i1] = cast_saturate:" +
                           type + "(add(round_even(" + quotient + "), " + number(static_cast<float>(zero)) +
                           "))\n    }\n  }\n}\n";
  const ir::loop::LoopProgram program = ir::loop::parse(text);
  const SizeValues sizes = {{"n", x.size()}};
  const ir::loop::Outcome want = interpret(program, sizes, {x});
  ASSERT_FALSE(want.mistake) << want.text;
  for (const jit::Target& target : code_targets()) {
    const Tensor got = run_code(jit::KernelCode::compile(program, target, {}), sizes, {x})[0];
    for (int64_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(got.get_int(i), want.outputs[0].get_int(i))
          << text << "of " << x.get_real(i) << ", " << target.vector_bytes << " bytes";
    }
  }
}

TEST(Quantize, RoundsAsTheQuotientDoes) {
  std::mt19937 random(3);
  std::vector<float> scales = {1.0F, 0.5F, 0.1F, 1.0F / 3, 0.027341190725564957F, 0x1.fffffep-4F, 0x1p-61F};
  for (int k = 0; k < 12; ++k)
    scales.push_back(std::ldexp(1 + static_cast<float>(random()) * 0x1p-32F, -static_cast<int>(k)));
  for (const float scale : scales) {
    for (const int zero : {0, 7, 128}) expect_quantised(scale, zero, "u8", true);
    for (const int zero : {0, -128, 127}) expect_quantised(scale, zero, "i8", true);
    for (const int zero : {0, 7}) expect_quantised(scale, zero, "u8", true, true);
    if (HasFatalFailure()) return;
  }
}

TEST(Quantize, RoundsWhatIsNoQuotient) {
  for (const float scale : {1.0F, 0.3F, 36.575F}) {
    expect_quantised(scale, 135, "u8", false);
    expect_quantised(scale, -3, "i8", false);
    if (HasFatalFailure()) return;
  }
}

/// Of 16 bits, or with what is no integer added: as before.
TEST(Quantize, OtherFormsAreNotTakenForIt) {
  expect_quantised(0.1F, 300, "u16", true);
  expect_quantised(0.1F, 300, "u8", true);
}

TEST(RoundedQuotients, TakeNoDivision) {
  for (const float divisor : {1.0F, 0.1F, 3.0F, 0.027341190725564957F, 0x1.fffffep0F, 0x1.000002p-7F})
    EXPECT_TRUE(jit::rounds_as_quotient(divisor, -255, 255)) << divisor;
  for (const float divisor : {0.0F, -1.0F, std::nanf(""), std::numeric_limits<float>::infinity(), 0x1p-120F})
    EXPECT_FALSE(jit::rounds_as_quotient(divisor, -255, 255)) << divisor;
}

}  // namespace
}  // namespace axrun::tests
