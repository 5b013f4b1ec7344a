// Machine code that is right up to some size of the range it is claimed for, and wrong beyond: what an
// emitter makes that reads a loop's bound, or an index, with too few bits. The proof is of the loop program,
// so that the gate alone can see it: at every size that the code would serve before it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "ir/error.h"
#include "ir/text.h"
#include "tests/search/emitter_mistakes.h"
#include "tests/search/machine_code.h"
#include "verify/gate_sizes.h"

namespace axrun::tests {
namespace {

constexpr int64_t highest = 140000;

struct Subject {
  const char* name;
  const char* text;
};
constexpr Subject subjects[] = {
    {"map over rows",
     "program M(x: f32[n, 3], b: f32[3]) -> (y) {\n  y: f32[n, 3] = map (i: n, j: 3) { x[i, j] * b[j] }\n}"},
    {"product with many rows",
     "program P(a: f32[n, 5], b: f32[5, 17]) -> (y) {\n"
     "  y: f32[n, 17] = reduce sum (i: n, j: 17; p: 5) { a[i, p] * b[p, j] }\n}"},
    {"product with long sums",
     "program S(a: f32[5, n], b: f32[n, 17]) -> (y) {\n"
     "  y: f32[5, 17] = reduce sum (i: 5, j: 17; p: n) { a[i, p] * b[p, j] }\n}"},
    {"softmax over long rows",
     "program R(x: f32[3, n]) -> (y) {\n"
     "  m: f32[3] = reduce max (i: 3; r: n) { x[i, r] }\n"
     "  s: f32[3] = reduce sum (i: 3; r: n) { exp(x[i, r] - m[i]) }\n"
     "  y: f32[3, n] = map (i: 3, j: n) { exp(x[i, j] - m[i]) / s[i] }\n}"},
};

/// How code fares whose sizes grow, each time by one beyond what it serves.
struct Fate {
  int64_t served = 0;  ///< up to there, before it was refused
  bool refused = false;
  std::string text;
  int tests = 0;
};
Fate grow(const ir::Program& expression, const std::shared_ptr<const jit::KernelCode>& code, int64_t first,
          int64_t last) {
  const std::vector<ir::loop::Size> ranges = {{"n", 2, highest, 1}};
  verify::TestedSizes tested;
  Fate fate;
  for (int64_t n = first; n <= last; n = fate.served + 1) {
    verify::GateOptions options;
    const verify::SizesToTry all = verify::sizes_to_try(expression, ranges, {{"n", n}}, tested);
    options.sizes = all.sizes;
    options.thorough = all.thorough;
    const verify::Evidence evidence = verify::test_numerically(expression, gate_candidate(code), options);
    ++fate.tests;
    fate.refused = evidence.verdict == verify::Verdict::refuted;
    fate.text = evidence.text;
    if (!evidence.accepted()) return fate;
    for (const verify::SizeAssignment& sizes : options.sizes) tested.add(sizes);
    fate.served = std::min(highest, verify::served_up_to(tested.largest("n")));
  }
  return fate;
}

std::optional<std::shared_ptr<const jit::KernelCode>> code_of(const Subject& subject,
                                                              const EmitterMistake* mistake, int64_t edge) {
  const ir::Program expression = ir::parse(subject.text);
  const search::Lowered lowered =
      search::lower(expression, {{"n", 2, highest, 1}}, std::vector<bool>(expression.operands.size(), false),
                    targets_with_code().front());
  EXPECT_TRUE(lowered.program) << subject.name << ": " << lowered.reason;
  if (!lowered.program) return std::nullopt;
  if (mistake == nullptr) return jit::KernelCode::compile(*lowered.program, targets_with_code().front());
  const auto wrong = with_mistake(*lowered.program, *mistake, "n", edge);
  if (!wrong) return std::nullopt;
  try {
    return jit::KernelCode::compile(*wrong, targets_with_code().front());
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::unsupported) << error.what();
    return std::nullopt;
  }
}

TEST(EmitterBorders, RightCodeServesTheWholeRangeInTheEnd) {
  for (const Subject& subject : subjects) {
    const auto code = code_of(subject, nullptr, 0);
    ASSERT_TRUE(code);
    const Fate fate = grow(ir::parse(subject.text), *code, 20, highest);
    EXPECT_FALSE(fate.refused) << subject.name << ": " << fate.text;
    EXPECT_EQ(fate.served, highest) << subject.name << ": " << fate.text;
    EXPECT_LE(fate.tests, 8) << subject.name;
  }
}

/// Whoever asks for sizes one after the other never gets an answer of it that is wrong.
TEST(EmitterBorders, CodeThatIsWrongBeyondABorderIsRefusedBeforeItServesThere) {
  int refused = 0;
  for (const Subject& subject : subjects) {
    for (const EmitterMistake& mistake : emitter_mistakes) {
      for (const int64_t border : verify::size_borders) {
        const auto code = code_of(subject, &mistake, border);
        if (!code) continue;
        const Fate fate = grow(ir::parse(subject.text), *code, 20, highest);
        EXPECT_TRUE(fate.refused) << subject.name << ", " << mistake.name << ", " << border << ": "
                                  << fate.text;
        EXPECT_LT(fate.served, border + mistake.first_wrong)
            << subject.name << ", " << mistake.name << ", " << border;
        refused += fate.refused ? 1 : 0;
      }
    }
  }
  std::printf("%d mutants with an edge at a border refused\n", refused);
  EXPECT_GE(refused, 30);
}

/// Edges that nobody expects are met by the first size beyond them that is asked for and not served: what is
/// served untested is less than twice what was tested.
TEST(EmitterBorders, CodeThatIsWrongBeyondAnyOtherSizeIsRefusedAtTheNextTest) {
  int refused = 0;
  for (const Subject& subject : subjects) {
    for (const int64_t edge : {70, 100, 200, 300, 500, 1000, 3000, 5000, 20000, 50000}) {
      const EmitterMistake& mistake = bound_cut_off;
      const auto code = code_of(subject, &mistake, edge);
      if (!code) continue;
      const Fate fate = grow(ir::parse(subject.text), *code, 20, highest);
      EXPECT_TRUE(fate.refused) << subject.name << ", " << edge << ": " << fate.text;
      EXPECT_LE(fate.served, 2 * edge) << subject.name << ", " << edge;
      refused += fate.refused ? 1 : 0;
    }
  }
  std::printf("%d mutants with an edge elsewhere refused\n", refused);
  EXPECT_GE(refused, 30);
}

}  // namespace
}  // namespace axrun::tests
