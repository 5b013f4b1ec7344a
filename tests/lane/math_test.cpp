#include "ir/lane/math/math.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "ir/lane/builder.h"
#include "ir/lane/evaluate.h"
#include "ir/lane/text.h"
#include "verify/ulp_bounds.h"
#include "verify/ulp_store.h"

namespace axrun::verify {
namespace {

using ir::lane::evaluate;
using ir::lane::Instruction;
using ir::lane::MathFunction;
using ir::lane::Opcode;
using ir::lane::Program;
using ir::lane::ValueId;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Every 4099th float, and the places where lane programs go wrong.
UlpReport measure_quickly(const Program& program, const MathReference& reference) {
  std::vector<uint32_t> inputs = special_neighbourhoods(program, 1000);
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) inputs.push_back(static_cast<uint32_t>(bits));
  return measure_ulp(program, reference, inputs);
}

class LaneMath : public testing::TestWithParam<MathFunction> {};

TEST_P(LaneMath, IsAsAccurateAsItClaims) {
  const MathReference* reference = find_math_reference(GetParam().name);
  ASSERT_NE(reference, nullptr);
  const UlpReport report = measure_quickly(GetParam().make(), *reference);
  EXPECT_LE(report.most_ulp, GetParam().most_ulp) << std::bit_cast<float>(report.worst);
  EXPECT_EQ(report.special_wrong, 0U) << std::hex << report.first_wrong.value_or(0);
  // A claim far above the truth would hide mistakes.
  EXPECT_GE(report.most_ulp, GetParam().most_ulp / 2);
}

TEST_P(LaneMath, ReferenceKeepsItsErrorBound) {
  const MathReference& reference = *find_math_reference(GetParam().name);
  for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 999'983) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    const double value = reference.value(x);
    // Below half of the least denormal float only the sign matters.
    if (!std::isfinite(x) || !std::isfinite(value) || std::fabs(value) < 0x1p-151) continue;
    const double precise = reference.precise(x);
    ASSERT_LE(std::fabs(value - precise), reference_error * std::fabs(precise)) << x;
  }
}

INSTANTIATE_TEST_SUITE_P(, LaneMath, testing::ValuesIn(ir::lane::math_functions()),
                         [](const auto& info) { return std::string(info.param.name); });

/// Written out, and not taken from the reference.
TEST(LaneMathSpecialValues, AreThoseOfTheExpressions) {
  auto at = [](std::string_view name, float x) {
    return evaluate(ir::lane::find_math_function(name)->make(), x);
  };
  auto bits_at = [&](std::string_view name, float x) { return std::bit_cast<uint32_t>(at(name, x)); };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const MathFunction& function : ir::lane::math_functions()) {
    EXPECT_TRUE(std::isnan(at(function.name, nan))) << function.name;
    EXPECT_TRUE(std::isnan(at(function.name, -nan))) << function.name;
  }
  constexpr uint32_t negative_zero = 0x80000000U;
  EXPECT_EQ(at("exp", 0.0F), 1.0F);
  EXPECT_EQ(at("exp", infinity), infinity);
  EXPECT_EQ(bits_at("exp", -infinity), 0U);
  EXPECT_EQ(at("exp", 88.8F), infinity);
  EXPECT_EQ(bits_at("exp", -103.0F), 1U);
  EXPECT_EQ(bits_at("exp", -104.0F), 0U);
  EXPECT_EQ(at("log", 0.0F), -infinity);
  EXPECT_EQ(at("log", -0.0F), -infinity);
  EXPECT_EQ(bits_at("log", 1.0F), 0U);
  EXPECT_EQ(at("log", infinity), infinity);
  EXPECT_TRUE(std::isnan(at("log", -infinity)));
  EXPECT_TRUE(std::isnan(at("log", -1e-45F)));
  EXPECT_TRUE(std::isnan(at("rsqrt", -1.0F)));
  EXPECT_EQ(at("rsqrt", 0.0F), infinity);
  EXPECT_EQ(at("rsqrt", -0.0F), -infinity);
  EXPECT_EQ(bits_at("rsqrt", infinity), 0U);
  for (const char* name : {"tanh", "erf"}) {
    EXPECT_EQ(at(name, infinity), 1.0F);
    EXPECT_EQ(at(name, -infinity), -1.0F);
    EXPECT_EQ(bits_at(name, 0.0F), 0U);
    EXPECT_EQ(bits_at(name, -0.0F), negative_zero);
  }
  EXPECT_EQ(bits_at("tanh", -1e-45F), 0x80000001U);
  EXPECT_EQ(at("sigmoid", 0.0F), 0.5F);
  EXPECT_EQ(at("sigmoid", infinity), 1.0F);
  EXPECT_EQ(bits_at("sigmoid", -infinity), 0U);
  EXPECT_EQ(bits_at("gelu", -0.0F), negative_zero);
  EXPECT_EQ(at("gelu", infinity), infinity);
  EXPECT_TRUE(std::isnan(at("gelu", -infinity)));
}

/// Tests of the tester: each change makes a program wrong, and must be seen.
struct Mutant {
  const char* name;
  const char* function;
  void (*change)(Program& program);
};

Instruction& find(Program& program, Opcode opcode, int which = 0) {
  for (Instruction& instruction : program.instructions) {
    if (instruction.opcode == opcode && which-- == 0) return instruction;
  }
  throw std::logic_error("the program lacks the operation to change");
}

Instruction& constant(Program& program, float value) {
  for (Instruction& instruction : program.instructions) {
    if (instruction.opcode == Opcode::constant && instruction.literal == std::bit_cast<uint32_t>(value)) {
      return instruction;
    }
  }
  throw std::logic_error("the program lacks the constant to change");
}

void swap_select(Program& program, int which) {
  Instruction& select = find(program, Opcode::select, which);
  std::swap(select.arguments[1], select.arguments[2]);
}

/// As if the select did not exist: its "no" branch always.
void drop_select(Program& program, int which) {
  Instruction& select = find(program, Opcode::select, which);
  select.arguments[1] = select.arguments[2];
}

/// min and max with the arguments exchanged no longer pass NaN on.
void exchange(Program& program, Opcode opcode) {
  Instruction& instruction = find(program, opcode);
  std::swap(instruction.arguments[0], instruction.arguments[1]);
}

/// Chooses where -104 is less, as if NaN were less than everything.
void drop_nan(Program& program) {
  Instruction& comparison = find(program, Opcode::not_less);
  comparison.opcode = Opcode::less_equal;
  std::swap(comparison.arguments[0], comparison.arguments[1]);
}

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = {
      {"exp_coefficient", "exp", [](Program& p) { constant(p, 0.00836955011F).literal += 0x4000; }},
      {"exp_last_coefficient", "exp", [](Program& p) { constant(p, 0.00138438132F).literal ^= 0x80000000U; }},
      {"exp_lower_ln2", "exp", [](Program& p) { constant(p, -1.42860677e-06F).literal ^= 0x80000000U; }},
      {"exp_nan_lost_in_min", "exp", [](Program& p) { exchange(p, Opcode::min); }},
      {"exp_underflows_early", "exp", [](Program& p) { constant(p, -104.0F).literal = 0xc2ae0000U; }},  // -87
      {"exp_overflows_never", "exp", [](Program& p) { constant(p, 89.0F).literal = 0x42b00000U; }},     // 88
      {"exp_vanishes_late", "exp", [](Program& p) { constant(p, -104.0F).literal = 0xc2d20000U; }},  // -105
      {"exp_rounds_to_halves", "exp", [](Program& p) { constant(p, 12582912.0F).literal -= 0x00800000U; }},
      {"exp_nan_vanishes", "exp", [](Program& p) { drop_nan(p); }},
      {"log_coefficient", "log", [](Program& p) { constant(p, 0.142017633F).literal += 0x8000; }},
      {"log_denormals_unscaled", "log", [](Program& p) { drop_select(p, 0); }},
      {"log_denormals_offset", "log", [](Program& p) { swap_select(p, 1); }},
      {"log_infinity", "log", [](Program& p) { swap_select(p, 2); }},
      {"log_zero", "log", [](Program& p) { drop_select(p, 3); }},
      {"log_negative", "log", [](Program& p) { drop_select(p, 4); }},
      {"tanh_coefficient", "tanh", [](Program& p) { p.tables[5][3] += 0x1000; }},
      {"tanh_last_coefficient", "tanh", [](Program& p) { p.tables[0][1] ^= 0x80000000U; }},
      {"tanh_width", "tanh", [](Program& p) { constant(p, -0.578125F).literal += 1; }},
      {"tanh_rounds_to_halves", "tanh", [](Program& p) { constant(p, 12582912.0F).literal -= 0x00800000U; }},
      {"tanh_nan_lost_in_min", "tanh", [](Program& p) { exchange(p, Opcode::min); }},
      {"tanh_without_sign", "tanh", [](Program& p) { find(p, Opcode::copysign).arguments[1] = 1; }},
      {"sigmoid_swapped", "sigmoid", [](Program& p) { swap_select(p, 0); }},
      {"sigmoid_correction_swapped", "sigmoid", [](Program& p) { swap_select(p, 1); }},
      {"sigmoid_nan_lost_in_max", "sigmoid", [](Program& p) { exchange(p, Opcode::max); }},
      {"erf_coefficient", "erf", [](Program& p) { p.tables[3][9] += 0x8000; }},
      {"erf_last_coefficient", "erf", [](Program& p) { p.tables[0][5] ^= 0x80000000U; }},
      {"erf_tables_swapped", "erf", [](Program& p) { std::swap(p.tables[0], p.tables[1]); }},
      {"erf_rounds_to_halves", "erf", [](Program& p) { constant(p, 3145728.0F).literal += 0x00800000U; }},
      {"erf_ends_late", "erf", [](Program& p) { constant(p, 3.8749998F).literal += 2; }},
      {"erf_without_sign", "erf", [](Program& p) { find(p, Opcode::copysign).arguments[1] = 1; }},
      {"erf_nan_lost_in_min", "erf", [](Program& p) { exchange(p, Opcode::min); }},
      {"gelu_half", "gelu", [](Program& p) { constant(p, 0.5F).literal += 4; }},
      {"rsqrt_without_root", "rsqrt", [](Program& p) { find(p, Opcode::sqrt).opcode = Opcode::abs; }},
  };
  return all;
}

class WrongMath : public testing::TestWithParam<Mutant> {};

TEST_P(WrongMath, IsReported) {
  const MathFunction& function = *ir::lane::find_math_function(GetParam().function);
  Program program = function.make();
  const Program original = program;
  GetParam().change(program);
  ASSERT_NE(program, original);
  const UlpReport report = measure_quickly(program, *find_math_reference(function.name));
  EXPECT_FALSE(report.within(function.most_ulp)) << report.most_ulp;
}

INSTANTIATE_TEST_SUITE_P(, WrongMath, testing::ValuesIn(mutants()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(UlpBounds, MeasuresKnownErrors) {
  const MathReference& rsqrt = *find_math_reference("rsqrt");
  // 1/sqrt(4) = 0.5; one place further, and with the wrong sign.
  auto answer = [](uint32_t bits) {
    ir::lane::Builder b("answer");
    b.input();
    return b.finish(b.constant_bits(bits));
  };
  const uint32_t four = std::bit_cast<uint32_t>(4.0F);
  const uint32_t half = std::bit_cast<uint32_t>(0.5F);
  EXPECT_EQ(measure_ulp(answer(half), rsqrt, std::span(&four, 1)).most_ulp, 0.0);
  EXPECT_EQ(measure_ulp(answer(half + 1), rsqrt, std::span(&four, 1)).most_ulp, 1.0);
  EXPECT_EQ(measure_ulp(answer(half - 1), rsqrt, std::span(&four, 1)).most_ulp, 0.5);
  const UlpReport negated = measure_ulp(answer(half | 0x80000000U), rsqrt, std::span(&four, 1));
  EXPECT_EQ(negated.special_wrong, 1U);
  EXPECT_EQ(negated.first_wrong, four);
  EXPECT_EQ(negated.most_ulp, 0x1p24);
  const UlpReport lost = measure_ulp(answer(0x7fc00000U), rsqrt, std::span(&four, 1));
  EXPECT_FALSE(lost.within(1e300));
  EXPECT_EQ(lost.most_ulp, std::numeric_limits<double>::infinity());
  // Overflow: infinity for the largest float is half a place and a little off at e^88.722839.
  const uint32_t last = std::bit_cast<uint32_t>(88.7228317F);
  const UlpReport early = measure_ulp(answer(0x7f800000U), *find_math_reference("exp"), std::span(&last, 1));
  EXPECT_EQ(early.special_wrong, 0U);
  EXPECT_GT(early.most_ulp, 0.5);
  EXPECT_LT(early.most_ulp, 128.0);
}

TEST(UlpBounds, ThreadsDoNotChangeTheReport) {
  const Program program = ir::lane::find_math_function("exp")->make();
  const MathReference& reference = *find_math_reference("exp");
  const UlpReport one = measure_ulp(program, reference, 20011, 1);
  const UlpReport three = measure_ulp(program, reference, 20011, 3);
  EXPECT_EQ(one.inputs, (uint64_t{1} << 32) / 20011 + 1);
  EXPECT_EQ(one.inputs, three.inputs);
  EXPECT_EQ(one.finite, three.finite);
  EXPECT_EQ(one.most_ulp, three.most_ulp);
  EXPECT_EQ(one.worst, three.worst);
  EXPECT_NEAR(one.mean_ulp, three.mean_ulp, 1e-12);
}

class UlpStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("axrun_ulp_store_" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(UlpStoreTest, KeepsReportsByTheProgramsText) {
  const UlpStore store((folder_ / "inner").string());
  Program program = ir::lane::find_math_function("rsqrt")->make();
  EXPECT_FALSE(store.load(program));
  UlpReport report;
  report.inputs = uint64_t{1} << 32;
  report.finite = 12;
  report.most_ulp = 1.1;
  report.mean_ulp = 0.3;
  report.worst = 0xdeadbeefU;
  report.special_wrong = 1;
  report.first_wrong = 7;
  store.save(program, report);
  const auto loaded = store.load(program);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->inputs, report.inputs);
  EXPECT_EQ(loaded->finite, report.finite);
  EXPECT_EQ(loaded->most_ulp, report.most_ulp);
  EXPECT_EQ(loaded->mean_ulp, report.mean_ulp);
  EXPECT_EQ(loaded->worst, report.worst);
  EXPECT_EQ(loaded->special_wrong, report.special_wrong);
  EXPECT_EQ(loaded->first_wrong, report.first_wrong);
  // One bit of one constant makes another program.
  Program changed = program;
  constant(changed, 1.0F).literal ^= 1;
  EXPECT_FALSE(store.load(changed));

  // Damaged files count as absent, and are replaced.
  std::filesystem::resize_file(store.path(program), std::filesystem::file_size(store.path(program)) - 3);
  EXPECT_FALSE(store.load(program));
  std::ofstream(store.path(program)) << "something else";
  EXPECT_FALSE(store.load(program));
  store.save(program, UlpReport{});
  EXPECT_TRUE(store.load(program));
}

}  // namespace
}  // namespace axrun::verify
