// ONNX's own suite: as Debian packages it (libonnx-testdata), or what AXRUN_SUITE=FOLDER holds
// (newest_suite.py writes the newest one there). AXRUN_SUITE_REPORT=FILE writes every case's outcome,
// AXRUN_SUITE_EVIDENCE=FILE appends what ran the nodes of the cases that passed (see coverage.py),
// AXRUN_SUITE_CASE=TEXT selects the cases with TEXT in their names. Every case is answered by precompiled
// kernels, by the reference, and by generated kernels: these are in parts, which may run side by side.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/onnx_suite/suite_case.h"
#include "tests/optimizer/knobs.h"

namespace axrun::tests {
namespace {

constexpr const char* packaged_suite = "/usr/share/libonnx-testdata/data";

std::vector<std::string> chosen_cases() {
  const char* folder = std::getenv("AXRUN_SUITE");
  std::vector<std::string> cases = find_cases(folder != nullptr ? folder : packaged_suite);
  if (const char* part = std::getenv("AXRUN_SUITE_CASE")) {
    std::erase_if(cases, [part](const std::string& name) { return name.find(part) == std::string::npos; });
  }
  return cases;
}

const char* name_of(Outcome outcome) {
  static constexpr const char* names[] = {"passed", "random", "refused",      "bounded",
                                          "wrong",  "failed", "contradictory"};
  return names[static_cast<int>(outcome)];
}

/// The operator a refusal is about: the first word of the second line, or of the message.
std::string category_of(const std::string& why) {
  const size_t line = why.find("\n  ");
  const size_t start = line == std::string::npos ? 0 : line + 3;
  return why.substr(start, why.find(' ', start) - start);
}

constexpr int parts = 4;

/// Percent of the cases in which generated kernels have to be in force, so that the test says something.
constexpr int least_generated = 40;

/// Runs the cases k, k + step, ... and says how they ended.
void run_cases(const std::vector<std::string>& cases, Answering answering, size_t first, size_t step) {
  std::map<Outcome, int> counts;
  std::map<std::string, std::vector<std::string>> refused;
  std::string report, mistakes, rounded, evidence;
  const char* evidence_file = std::getenv("AXRUN_SUITE_EVIDENCE");
  int count = 0, with_steps = 0, with_generated = 0;
  for (size_t k = first; k < cases.size(); k += step, ++count) {
    const std::string& folder = cases[k];
    const CaseResult result = run_case(folder, answering, evidence_file != nullptr);
    ++counts[result.outcome];
    with_steps += result.steps > 0 ? 1 : 0;
    with_generated += result.generated > 0 ? 1 : 0;
    report += fmt::format("{}\t{}\t{}\t{}/{}\n", name_of(result.outcome), result.name, result.why,
                          result.generated, result.steps);
    const bool right = result.outcome == Outcome::passed || result.outcome == Outcome::bounded;
    if (right || result.outcome == Outcome::random)
      evidence += "case\t" + result.name + "\n" + result.evidence;
    if (result.outcome == Outcome::refused) refused[category_of(result.why)].push_back(result.name);
    if (result.outcome == Outcome::bounded) {
      rounded += fmt::format("  bounded: {}: {}\n", result.name, result.why);
      EXPECT_FALSE(is_packaged(folder)) << rounded;
    }
    if (result.outcome == Outcome::wrong || result.outcome == Outcome::failed) {
      mistakes += fmt::format("{} {}: {}\n", name_of(result.outcome), result.name, result.why);
    }
  }
  if (const char* file = std::getenv("AXRUN_SUITE_REPORT")) std::ofstream(file, std::ios::app) << report;
  if (evidence_file != nullptr) std::ofstream(evidence_file, std::ios::app) << evidence;
  fmt::print("{} cases:", count);
  for (const auto& [outcome, number] : counts) fmt::print(" {} {}", number, name_of(outcome));
  if (answering == Answering::generated) {
    fmt::print("; generated kernels were in force in {} of {} with any kernel", with_generated, with_steps);
  }
  fmt::print("\n{}", rounded);
  for (const auto& [category, names] : refused) {
    fmt::print("  refused for {}: {} ({}{})\n", category, names.size(), names[0],
               names.size() > 1 ? ", ..." : "");
  }
  EXPECT_EQ(counts[Outcome::wrong] + counts[Outcome::failed], 0) << mistakes;
  if (std::getenv("AXRUN_SUITE_CASE") == nullptr) {
    EXPECT_GE(counts[Outcome::passed] * 100, count * 97);
    if (answering == Answering::generated) {
      EXPECT_GE(with_generated * 100, count * least_generated);
    }
  }
}

class OnnxSuite : public testing::TestWithParam<Answering> {};

TEST_P(OnnxSuite, PassesOrIsRefused) {
  const std::vector<std::string> cases = chosen_cases();
  if (cases.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  run_cases(cases, GetParam(), 0, 1);
}

INSTANTIATE_TEST_SUITE_P(Tiers, OnnxSuite, testing::Values(Answering::fallback, Answering::reference),
                         [](const auto& tier) {
                           return tier.param == Answering::fallback ? "fallback" : "reference";
                         });

class OnnxSuiteGenerated : public testing::TestWithParam<int> {};

TEST_P(OnnxSuiteGenerated, PassesOrIsRefused) {
  const std::vector<std::string> cases = chosen_cases();
  if (cases.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  const Knobs knobs{{"AXRUN_SWAP", "always"}, {"AXRUN_OPTIMIZE", "1"}};
  run_cases(cases, Answering::generated, static_cast<size_t>(GetParam()), parts);
}

INSTANTIATE_TEST_SUITE_P(Parts, OnnxSuiteGenerated, testing::Range(0, parts));

}  // namespace
}  // namespace axrun::tests
