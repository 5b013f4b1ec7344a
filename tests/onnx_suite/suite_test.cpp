// ONNX's own suite as Debian packages it (libonnx-testdata). AXRUN_SUITE_REPORT=FILE writes every case's
// outcome.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "tests/onnx_suite/suite_case.h"

namespace axrun::tests {
namespace {

constexpr const char* suite_root = "/usr/share/libonnx-testdata/data";

const char* name_of(Outcome outcome) {
  static constexpr const char* names[] = {"passed", "random", "refused", "wrong", "failed", "contradictory"};
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
  const std::vector<std::string> cases = find_cases(suite_root);
  if (cases.empty()) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::map<Outcome, int> counts;
  std::map<std::string, std::vector<std::string>> refused;
  std::string report, mistakes;
  for (const std::string& folder : cases) {
    const CaseResult result = run_case(folder, GetParam());
    ++counts[result.outcome];
    report += fmt::format("{}\t{}\t{}\n", name_of(result.outcome), result.name, result.why);
    if (result.outcome == Outcome::refused) refused[category_of(result.why)].push_back(result.name);
    if (result.outcome == Outcome::wrong || result.outcome == Outcome::failed) {
      mistakes += fmt::format("{} {}: {}\n", name_of(result.outcome), result.name, result.why);
    }
  }
  if (const char* file = std::getenv("AXRUN_SUITE_REPORT")) std::ofstream(file, std::ios::app) << report;
  fmt::print("{} cases:", cases.size());
  for (const auto& [outcome, count] : counts) fmt::print(" {} {}", count, name_of(outcome));
  fmt::print("\n");
  for (const auto& [category, names] : refused) {
    fmt::print("  refused for {}: {} ({}{})\n", category, names.size(), names[0],
               names.size() > 1 ? ", ..." : "");
  }
  EXPECT_EQ(counts[Outcome::wrong] + counts[Outcome::failed], 0) << mistakes;
  EXPECT_GE(counts[Outcome::passed] * 100, static_cast<int>(cases.size()) * 85);
}

INSTANTIATE_TEST_SUITE_P(Tiers, OnnxSuite, testing::Values(runtime::Tier::fallback, runtime::Tier::reference),
                         [](const auto& tier) {
                           return tier.param == runtime::Tier::fallback ? "fallback" : "reference";
                         });

}  // namespace
}  // namespace axrun::tests
