// Whole attention as machine code, against the reference interpreter.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ir/evaluate.h"
#include "tests/search/attention_cases.h"
#include "tests/search/machine_code.h"
#include "verify/loop_proof.h"
#include "verify/numeric_gate.h"
#include "verify/stand_ins.h"

namespace axrun::tests {
namespace {

class Attentions : public testing::TestWithParam<Case> {};

TEST_P(Attentions, AreComputedByMachineCode) { expect_computed(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Lowering, Attentions, testing::ValuesIn(attention_cases()),
                         [](const auto& info) { return info.param.name; });

class AttentionsInParts : public testing::TestWithParam<Case> {};

TEST_P(AttentionsInParts, AreComputedByMachineCode) { expect_computed(GetParam()); }

TEST_P(AttentionsInParts, AreProved) {
  const Case& c = GetParam();
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    const search::Lowered lowered = search::lower(c.make(), c.sizes, c.constant, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    EXPECT_EQ(lowered.kind, c.kind);
    EXPECT_TRUE(verify::rescales_sums(*lowered.program));
    const verify::Evidence evidence = verify::prove(*lowered.program, lowered.expression);
    EXPECT_EQ(evidence.verdict, verify::Verdict::proved) << evidence.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Lowering, AttentionsInParts, testing::ValuesIn(attention_in_parts_cases()),
                         [](const auto& info) { return info.param.name; });

/// What was before the last part is one part, or two.
TEST(Attentions, InFewPartsAreProvedAndComputed) {
  for (const Case& c : attention_in_few_parts_cases()) {
    for (const jit::Target& target : {avx512_like(), avx2_like()}) {
      const search::Lowered lowered = lowered_case(c, target);
      ASSERT_TRUE(lowered.program) << lowered.reason;
      EXPECT_TRUE(verify::rescales_sums(*lowered.program)) << c.name;
      const verify::Evidence evidence = verify::prove(*lowered.program, lowered.expression);
      EXPECT_EQ(evidence.verdict, verify::Verdict::proved) << c.name << ": " << evidence.text;
    }
    expect_computed(c);
  }
}

/// One is the other's alternative.
TEST(Attentions, AreOfferedAtOnceAndInParts) {
  Case c = attention_at_once_or_in_parts();
  for (const jit::Target& target : {avx512_like(), avx2_like()}) {
    int in_parts = 0;
    for (c.rank = 0; c.rank < 2; ++c.rank) {
      const search::Lowered lowered = lowered_case(c, target);
      ASSERT_TRUE(lowered.program) << lowered.reason;
      EXPECT_EQ(lowered.alternatives, 1);
      in_parts += verify::rescales_sums(*lowered.program) ? 1 : 0;
      const verify::Evidence evidence = verify::prove(*lowered.program, lowered.expression);
      EXPECT_EQ(evidence.verdict, verify::Verdict::proved) << evidence.text;
    }
    EXPECT_EQ(in_parts, 1) << target.name;
    EXPECT_FALSE(lowered_case(c, target).program) << "of rank 2";
  }
  for (c.rank = 0; c.rank < 2; ++c.rank) expect_computed(c);
}

const Case& case_of(const std::vector<Case>& cases, const std::string& name) {
  return *std::find_if(cases.begin(), cases.end(), [&](const Case& c) { return c.name == name; });
}

/// Many queries: what is kept of their scores grows with a block, not with them.
TEST(Attentions, KeepTheScoresOfABlock) {
  const std::vector<Case> cases = attention_cases();
  const Case& any_length = case_of(cases, "AttentionOfAnyLength");
  for (const jit::Target& target : targets_with_code()) {
    const search::Lowered lowered = search::lower(any_length.make(), any_length.sizes, {}, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    const auto code = jit::KernelCode::compile(*lowered.program, target, {});
    const auto scratch = [&](int64_t queries) {
      return jit::BoundKernel(code, {{"n", queries}, {"m", 64}}).scratch_bytes(1);
    };
    EXPECT_EQ(scratch(128), scratch(4096));
  }
}

/// What is masked, and what is far apart, is where a maximum over parts goes wrong first.
TEST(Attentions, InPartsWithMaskedAndDistantScores) {
  const std::vector<Case> cases = attention_in_parts_cases();
  const Case& c = case_of(cases, "InPartsWithoutBatch");
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float lowest = std::numeric_limits<float>::lowest();
  constexpr int64_t queries = 4, keys = 3000;
  using Mask = float (*)(int64_t query, int64_t key);
  const Mask masks[] = {
      // Nothing at all; nothing at first; something at first only; one key.
      [](int64_t query, int64_t key) {
        const bool open[] = {false, key >= 1500, key < 20, key == 2999};
        return open[query] ? 0 : -infinity;
      },
      // The same with the lowest number: a row that is masked all over has equal shares.
      [](int64_t query, int64_t key) {
        const bool open[] = {false, key >= 1500, key < 20, key == 2999};
        return open[query] ? 0 : lowest;
      },
      // Rising, falling, far up once, far down.
      [](int64_t query, int64_t key) {
        const auto k = static_cast<float>(key);
        const float values[] = {k, -k, key == 1800 ? 1e30F : 0, -1e30F};
        return values[query];
      },
      // Infinite, NaN, in the first part and in the last one.
      [](int64_t query, int64_t key) {
        const float nan = std::nanf("");
        const float values[] = {key == 5 ? infinity : 0, key == 2990 ? infinity : 0, key == 7 ? nan : 0,
                                key == 2800 ? nan : -infinity};
        return values[query];
      },
  };
  const ir::Program expression = c.make();
  std::mt19937 random(3);
  std::vector<ir::Tensor> inputs = {halves({1, queries, 8}, false, random),
                                    halves({1, keys, 8}, false, random), halves({1, keys, 8}, false, random),
                                    ir::Tensor::allocate(ir::ElementType::f32, {queries, keys})};
  for (const jit::Target& target : targets_with_code()) {
    const search::Lowered lowered = lowered_case(c, target);
    ASSERT_TRUE(lowered.program) << lowered.reason;
    EXPECT_TRUE(verify::rescales_sums(*lowered.program));
    const auto code = jit::KernelCode::compile(*lowered.program, target, {});
    for (const Mask mask : masks) {
      for (int64_t i = 0; i < queries * keys; ++i) inputs[3].as<float>()[i] = mask(i / keys, i % keys);
      const ir::Tensor want = ir::evaluate(expression, inputs)[0];
      const ir::Tensor got =
          run_guarded(code, {{"n", queries}}, inputs, {}, verify::Placement::ends_at_guard)[0];
      for (int64_t i = 0; i < want.size(); ++i) {
        const double a = got.get_real(i), b = want.get_real(i);
        if (a == b || (std::isnan(a) && std::isnan(b))) continue;
        EXPECT_LE(std::abs(a - b), 1e-5 * std::max(1.0, std::abs(b)))
            << "element " << i << " is " << a << " instead of " << b;
      }
    }
  }
}

/// Rescaling rounds more often than the expression, and stays within what it allows.
TEST(Attentions, InPartsPassTheNumericGate) {
  const std::vector<Case> cases = attention_in_parts_cases();
  for (const char* const name : {"InParts", "InPartsWithoutBatch", "InWholeParts"}) {
    const Case& c = case_of(cases, name);
    const ir::Program expression = c.make();
    for (const jit::Target& target : targets_with_code()) {
      const search::Lowered lowered = lowered_case(c, target);
      ASSERT_TRUE(lowered.program) << lowered.reason;
      EXPECT_TRUE(verify::rescales_sums(*lowered.program)) << name;
      const auto code = jit::KernelCode::compile(*lowered.program, target, {});
      verify::GateOptions gate;
      gate.sizes = c.values;
      gate.samples = 256;
      const auto candidate = [&](const verify::GateCall& call) {
        jit::BoundKernel kernel(code, call.sizes);
        std::vector<char> scratch(kernel.scratch_bytes(1) + 64);
        void* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64);
        kernel.run(call.operands.data(), call.results.data(), aligned, jit::inline_workers());
      };
      const verify::Evidence evidence = verify::test_numerically(expression, candidate, gate);
      EXPECT_EQ(evidence.verdict, verify::Verdict::tested) << name << ": " << evidence.text;
    }
  }
}

}  // namespace
}  // namespace axrun::tests
