// ONNX's own suite: as Debian packages it (libonnx-testdata), or what AXRUN_SUITE=FOLDER holds
// (newest_suite.py writes the newest one there). AXRUN_SUITE_REPORT=FILE writes every case's outcome,
// AXRUN_SUITE_CASE=TEXT selects the cases with TEXT in their names.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/onnx_suite/suite_case.h"

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
  static constexpr const char* names[] = {"passed", "random", "refused",      "rounding",
                                          "wrong",  "failed", "contradictory"};
  return names[static_cast<int>(outcome)];
}

/// The operator a refusal is about: the first word of the second line, or of the message.
std::string category_of(const std::string& why) {
  const size_t line = why.find("\n  ");
  const size_t start = line == std::string::npos ? 0 : line + 3;
  return why.substr(start, why.find(' ', start) - start);
}

class OnnxSuite : public testing::TestWithParam<runtime::Tier> {};

TEST_P(OnnxSuite, PassesOrIsRefused) {
  const std::vector<std::string> cases = chosen_cases();
  if (cases.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::map<Outcome, int> counts;
  std::map<std::string, std::vector<std::string>> refused;
  std::string report, mistakes, rounded;
  for (const std::string& folder : cases) {
    const CaseResult result = run_case(folder, GetParam());
    ++counts[result.outcome];
    report += fmt::format("{}\t{}\t{}\n", name_of(result.outcome), result.name, result.why);
    if (result.outcome == Outcome::refused) refused[category_of(result.why)].push_back(result.name);
    if (result.outcome == Outcome::rounding) {
      rounded += fmt::format("  rounded otherwise: {}: {}\n", result.name, result.why);
      EXPECT_FALSE(is_packaged(folder)) << rounded;
    }
    if (result.outcome == Outcome::wrong || result.outcome == Outcome::failed) {
      mistakes += fmt::format("{} {}: {}\n", name_of(result.outcome), result.name, result.why);
    }
  }
  if (const char* file = std::getenv("AXRUN_SUITE_REPORT")) std::ofstream(file, std::ios::app) << report;
  fmt::print("{} cases:", cases.size());
  for (const auto& [outcome, count] : counts) fmt::print(" {} {}", count, name_of(outcome));
  fmt::print("\n{}", rounded);
  for (const auto& [category, names] : refused) {
    fmt::print("  refused for {}: {} ({}{})\n", category, names.size(), names[0],
               names.size() > 1 ? ", ..." : "");
  }
  EXPECT_EQ(counts[Outcome::wrong] + counts[Outcome::failed], 0) << mistakes;
  if (std::getenv("AXRUN_SUITE_CASE") == nullptr) {
    EXPECT_GE(counts[Outcome::passed] * 100, static_cast<int>(cases.size()) * 97);
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, OnnxSuite, testing::Values(runtime::Tier::fallback, runtime::Tier::reference),
                         [](const auto& tier) {
                           return tier.param == runtime::Tier::fallback ? "fallback" : "reference";
                         });

}  // namespace
}  // namespace axrun::tests
