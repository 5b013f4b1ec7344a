#include "ir/lane/evaluate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "ir/lane/text.h"

namespace axrun::ir::lane {
namespace {

float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t as_bits(float value) { return std::bit_cast<uint32_t>(value); }

/// Bits that are special to floats or to integers, then random ones.
const std::vector<uint32_t>& patterns() {
  static const std::vector<uint32_t> all = [] {
    std::vector<uint32_t> found;
    for (const uint32_t magnitude :
         {0x00000000U, 0x00000001U, 0x00000002U, 0x007fffffU, 0x00800000U, 0x00800001U, 0x33800000U,
          0x33ffffffU, 0x3effffffU, 0x3f000000U, 0x3f000001U, 0x3f7fffffU, 0x3f800000U, 0x3f800001U,
          0x3fc00000U, 0x40200000U, 0x4afffffeU, 0x4affffffU, 0x4b000000U, 0x4b000001U, 0x4effffffU,
          0x4f000000U, 0x4f000001U, 0x7f7fffffU, 0x7f800000U, 0x7f800001U, 0x7fc00000U, 0x7fffffffU}) {
      found.push_back(magnitude);
      found.push_back(magnitude | 0x80000000U);
    }
    constexpr uint32_t seed = 20240607;
    std::mt19937 random(seed);
    while (found.size() < 120) found.push_back(random());
    return found;
  }();
  return all;
}

/// Evaluates one operation on the bits given (a mask's: all ones or zeros).
struct Single {
  explicit Single(const std::string& name) : operation(*find_operation(name)) {
    std::string text = "lane f {\n";
    std::string arguments;
    for (int k = 0; k < operation.arity; ++k) {
      const bool is_float = operation.arguments[static_cast<size_t>(k)] == Type::f32;
      text += "%" + std::to_string(k) + (is_float ? " = input\n" : " = i32_input\n");
    }
    int next = operation.arity;
    for (int k = 0; k < operation.arity; ++k) {
      int value = k;
      if (operation.arguments[static_cast<size_t>(k)] == Type::mask) {
        // A mask cannot be an input: it is made as "negative".
        text += "%" + std::to_string(next) + " = i32_constant 0\n%" + std::to_string(next + 1) +
                " = i32_less %" + std::to_string(k) + ", %" + std::to_string(next) + "\n";
        value = next + 1;
        next += 2;
      }
      arguments += (k == 0 ? "%" : ", %") + std::to_string(value);
    }
    if (operation.literal == Literal::shift) arguments += ", 5";
    text += "%" + std::to_string(next) + " = " + name + " " + arguments + "\nreturn %" +
            std::to_string(next) + "\n}";
    program = parse(text);
  }

  /// `expected` is given the arguments' bits; results are compared by bits, NaN of floats with any NaN.
  void check(const std::function<uint32_t(uint32_t, uint32_t, uint32_t)>& expected, bool moves_bits = false) {
    const size_t arity = static_cast<size_t>(operation.arity);
    std::vector<std::vector<uint32_t>> inputs(arity);
    const auto& all = patterns();
    const size_t n = all.size();
    const size_t count = arity == 1 ? n : arity == 2 ? n * n : n * n * n;
    for (size_t k = 0; k < count; ++k) {
      size_t rest = k;
      for (auto& input : inputs) {
        input.push_back(all[rest % n]);
        rest /= n;
      }
    }
    for (size_t k = 0; k < arity; ++k) {
      if (operation.arguments[k] != Type::mask) continue;
      for (uint32_t& bits : inputs[k]) bits = (bits >> 31) != 0 ? ~0U : 0U;
    }
    const std::vector<std::span<const uint32_t>> views(inputs.begin(), inputs.end());
    std::vector<uint32_t> results(count);
    const std::span<uint32_t> output = results;
    Evaluator(program).run(views, std::span(&output, 1));
    const bool any_nan = operation.result == Type::f32 && !moves_bits;
    for (size_t k = 0; k < count; ++k) {
      const uint32_t a = inputs[0][k];
      const uint32_t b = arity > 1 ? inputs[1][k] : 0;
      const uint32_t c = arity > 2 ? inputs[2][k] : 0;
      const uint32_t wanted = expected(a, b, c);
      if (any_nan && std::isnan(as_float(wanted)) && std::isnan(as_float(results[k]))) continue;
      ASSERT_EQ(results[k], wanted) << operation.name << std::hex << " 0x" << a << " 0x" << b << " 0x" << c;
    }
  }

  const Operation& operation;
  Program program;
};

using F = float;
std::function<uint32_t(uint32_t, uint32_t, uint32_t)> of_floats(F (*f)(F, F, F)) {
  return
      [f](uint32_t a, uint32_t b, uint32_t c) { return as_bits(f(as_float(a), as_float(b), as_float(c))); };
}

TEST(LaneEvaluate, Arithmetic) {
  Single("add").check(of_floats([](F a, F b, F) -> F { return a + b; }));
  Single("sub").check(of_floats([](F a, F b, F) -> F { return a - b; }));
  Single("mul").check(of_floats([](F a, F b, F) -> F { return a * b; }));
  Single("div").check(of_floats([](F a, F b, F) -> F { return a / b; }));
  Single("sqrt").check(of_floats([](F a, F, F) -> F { return std::sqrt(a); }));
  Single("round_even").check(of_floats([](F a, F, F) -> F { return std::nearbyint(a); }));
  Single("floor").check(of_floats([](F a, F, F) -> F { return std::floor(a); }));
}

TEST(LaneEvaluate, FusedMultiplyAddRoundsOnce) {
  Single("fma").check(of_floats([](F a, F b, F c) -> F { return std::fma(a, b, c); }));
}

TEST(LaneEvaluate, FusedMultiplyAddInDoubleRoundsOnce) {
  constexpr uint32_t seed = 77;
  std::mt19937 random(seed);
  // Exponents close to each other's and to the denormals, where products meet addends and double rounding
  // bites.
  auto draw = [&](uint32_t exponent) {
    return as_float((random() & 0x807fffffU & ~(random() % 3 == 0 ? 0xfffU : 0U)) | exponent << 23);
  };
  for (int k = 0; k < 2'000'000; ++k) {
    const float a = draw(60 + random() % 60);
    const float b = draw(10 + random() % 60);
    const float c = draw(random() % 60);
    const float wanted = std::fma(a, b, c);
    ASSERT_EQ(as_bits(fused_multiply_add(a, b, c)), as_bits(wanted)) << a << " " << b << " " << c;
  }
  // 1 + 2^-24 lies between two floats: what the product adds far below decides.
  EXPECT_EQ(fused_multiply_add(0x1p-60F, 0x1p-60F, 0x1p-24F), 0x1p-24F);
  const float above = as_float(0x3f800001U);
  EXPECT_EQ(fused_multiply_add(0x1.000002p0F, 0x1.000002p0F, 0x1p-70F),
            std::fma(0x1.000002p0F, 0x1.000002p0F, 0x1p-70F));
  EXPECT_EQ(fused_multiply_add(above, above, -above), std::fma(above, above, -above));
}

TEST(LaneEvaluate, ScaleRoundsOnceInItsDomain) {
  const Single scale("scale");
  const Program& program = scale.program;
  const auto at = [&](float a, float b) {
    const uint32_t bits[] = {as_bits(a), as_bits(b)};
    const std::span<const uint32_t> inputs[] = {std::span(&bits[0], 1), std::span(&bits[1], 1)};
    uint32_t result = 0;
    const std::span<uint32_t> output(&result, 1);
    Evaluator(program).run(inputs, std::span(&output, 1));
    return as_float(result);
  };
  constexpr uint32_t seed = 5;
  std::mt19937 random(seed);
  for (int n = -150; n <= 150; ++n) {
    for (int k = 0; k < 200; ++k) {
      const float magnitude = k == 0 ? 0.25F : k == 1 ? 4.0F : as_float(0x3e800000U + random() % 0x02000000U);
      const float a = k % 2 == 0 ? magnitude : -magnitude;
      ASSERT_EQ(as_bits(at(a, static_cast<float>(n))), as_bits(static_cast<float>(std::ldexp(double{a}, n))))
          << a << " " << n;
    }
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(at(nan, nan)));
  // Outside of the domain nothing is specified; the evaluator answers what spoils a result.
  for (const auto& [a, b] : std::initializer_list<std::pair<float, float>>{{0.0F, 1.0F},
                                                                           {0.2F, 0.0F},
                                                                           {4.1F, 0.0F},
                                                                           {1.0F, 151.0F},
                                                                           {1.0F, -151.0F},
                                                                           {1.0F, 0.5F},
                                                                           {1.0F, nan}})
    EXPECT_TRUE(std::isnan(at(a, b))) << a << " " << b;
}

TEST(LaneEvaluate, MovesOfBits) {
  Single("neg").check([](uint32_t a, uint32_t, uint32_t) { return a ^ 0x80000000U; }, true);
  Single("abs").check([](uint32_t a, uint32_t, uint32_t) { return a & 0x7fffffffU; }, true);
  Single("copysign")
      .check([](uint32_t a, uint32_t b, uint32_t) { return (a & 0x7fffffffU) | (b & 0x80000000U); }, true);
  Single("min").check([](uint32_t a, uint32_t b, uint32_t) { return as_float(a) < as_float(b) ? a : b; },
                      true);
  Single("max").check([](uint32_t a, uint32_t b, uint32_t) { return as_float(a) > as_float(b) ? a : b; },
                      true);
  Single("select").check([](uint32_t a, uint32_t b, uint32_t c) { return a != 0 ? b : c; }, true);
  Single("where").check([](uint32_t a, uint32_t b, uint32_t) { return a != 0 ? b : 0x7fc00000U; }, true);
  Single("i32_select").check([](uint32_t a, uint32_t b, uint32_t c) { return a != 0 ? b : c; });
  Single("bits").check([](uint32_t a, uint32_t, uint32_t) { return a; });
  Single("from_bits").check([](uint32_t a, uint32_t, uint32_t) { return a; }, true);
}

TEST(LaneEvaluate, TablesAreReadModuloTheirSize) {
  Program program = parse("lane f { %0 = i32_input %1 = from_bits %0 return %1 }");
  const Table table = {10, 11, 0x7f800001U, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 0xffffffffU};
  program.instructions[1] = {Opcode::lookup, {0, no_value, no_value}, table_number(program, table)};
  EXPECT_EQ(table_number(program, table), 0U);
  const std::vector<uint32_t>& indices = patterns();
  std::vector<uint32_t> results(indices.size());
  Evaluator(program).run(indices, results);
  for (size_t k = 0; k < indices.size(); ++k) EXPECT_EQ(results[k], table[indices[k] & 15]);
}

TEST(LaneEvaluate, Comparisons) {
  auto of = [](bool (*f)(float, float)) {
    return [f](uint32_t a, uint32_t b, uint32_t) { return f(as_float(a), as_float(b)) ? ~0U : 0U; };
  };
  Single("equal").check(of([](float a, float b) { return a == b; }));
  Single("less").check(of([](float a, float b) { return a < b; }));
  Single("less_equal").check(of([](float a, float b) { return a <= b; }));
  Single("unordered").check(of([](float a, float b) { return std::isnan(a) || std::isnan(b); }));
  Single("not_less").check(of([](float a, float b) { return std::isnan(a) || std::isnan(b) || a >= b; }));
  Single("i32_equal").check([](uint32_t a, uint32_t b, uint32_t) { return a == b ? ~0U : 0U; });
  Single("i32_less").check([](uint32_t a, uint32_t b, uint32_t) {
    return int64_t{static_cast<int32_t>(a)} < int64_t{static_cast<int32_t>(b)} ? ~0U : 0U;
  });
}

TEST(LaneEvaluate, Conversions) {
  auto to_integer = [](double rounded) {
    const bool inside = rounded >= -0x1p31 && rounded < 0x1p31;
    return inside ? static_cast<uint32_t>(static_cast<int64_t>(rounded)) : 0x80000000U;
  };
  Single("to_i32_nearest").check([&](uint32_t a, uint32_t, uint32_t) {
    return to_integer(std::nearbyint(double{as_float(a)}));
  });
  Single("to_i32_truncate").check([&](uint32_t a, uint32_t, uint32_t) {
    return to_integer(std::trunc(double{as_float(a)}));
  });
  Single("i32_to_f32").check([](uint32_t a, uint32_t, uint32_t) {
    return as_bits(static_cast<float>(static_cast<double>(static_cast<int32_t>(a))));
  });
}

TEST(LaneEvaluate, Integers) {
  using Bits = uint32_t;
  Single("i32_add").check([](Bits a, Bits b, Bits) { return static_cast<Bits>(uint64_t{a} + b); });
  Single("i32_sub").check([](Bits a, Bits b, Bits) { return static_cast<Bits>(uint64_t{a} - b); });
  Single("i32_mul").check([](Bits a, Bits b, Bits) { return static_cast<Bits>(uint64_t{a} * b); });
  Single("i32_and").check([](Bits a, Bits b, Bits) { return a & b; });
  Single("i32_or").check([](Bits a, Bits b, Bits) { return a | b; });
  Single("i32_xor").check([](Bits a, Bits b, Bits) { return a ^ b; });
  Single("i32_shift_left").check([](Bits a, Bits, Bits) { return static_cast<Bits>(uint64_t{a} << 5); });
  Single("i32_shift_right").check([](Bits a, Bits, Bits) { return a / 32; });
  Single("i32_shift_right_arithmetic").check([](Bits a, Bits, Bits) {
    return static_cast<Bits>(static_cast<int64_t>(std::floor(static_cast<int32_t>(a) / 32.0)));
  });
  Single("mask_and").check([](Bits a, Bits b, Bits) { return a & b; });
  Single("mask_or").check([](Bits a, Bits b, Bits) { return a | b; });
  Single("mask_xor").check([](Bits a, Bits b, Bits) { return a ^ b; });
  Single("mask_not").check([](Bits a, Bits, Bits) { return ~a; });
}

TEST(LaneEvaluate, AnyNumberOfLanesAndSeveralResults) {
  const Program program = parse(
      "lane f { %0 = input %1 = i32_input %2 = add %0, %0 %3 = i32_sub %1, %1 %4 = constant 0x40400000"
      " return %2, %4, %3, %0 }");
  Evaluator evaluator(program);
  for (const size_t count : {0, 1, 7, 511, 512, 513, 1500}) {
    std::vector<uint32_t> x(count);
    std::vector<uint32_t> integers(count, 9);
    for (size_t k = 0; k < count; ++k) x[k] = as_bits(static_cast<float>(k));
    std::vector<std::vector<uint32_t>> results(4, std::vector<uint32_t>(count, 1));
    const std::vector<std::span<const uint32_t>> inputs = {x, integers};
    const std::vector<std::span<uint32_t>> outputs(results.begin(), results.end());
    evaluator.run(inputs, outputs);
    for (size_t k = 0; k < count; ++k) {
      ASSERT_EQ(as_float(results[0][k]), 2.0F * static_cast<float>(k));
      ASSERT_EQ(as_float(results[1][k]), 3.0F);
      ASSERT_EQ(results[2][k], 0U);
      ASSERT_EQ(results[3][k], x[k]);
    }
  }
}

}  // namespace
}  // namespace axrun::ir::lane
