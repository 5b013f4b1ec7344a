// Which factories' kernels are made again at other sizes (Kernel::resized), and which are not: the table that
// AXRUN_RESIZED_TABLE=1 prints.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "tests/operators/open_step.h"

namespace axrun::runtime {
namespace {

/// The same cases in every run: what the table says is not left to chance.
constexpr uint64_t first_seed = 20250101;
constexpr int cases_of_each = 40;

struct Row {
  int cases = 0;  ///< whose sizes are open
  int sizes = 0;  ///< that are let through
  int again = 0;  ///< at which the kernel was made again
};
/// By operator and by what the kernel calls itself, without numbers.
using Table = std::map<std::pair<std::string, std::string>, Row>;

std::string kind_of(const Kernel& kernel) {
  const std::string text = kernel.describe();
  const auto digit =
      std::find_if(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  std::string kind(text.begin(), digit);
  // Those that name their operator are of one kind.
  if (kind.starts_with("map ")) kind = "map";
  if (kind.starts_with("copy ")) kind = "copy";
  if (kind.starts_with("interpreter ")) kind = "interpreter";
  while (!kind.empty() && kind.back() == ' ') kind.pop_back();
  return kind;
}

Table table_of_factories() {
  Table table;
  for (const GeneratorEntry& generator : drawn_generators()) {
    for (uint64_t k = 0; k < cases_of_each; ++k) {
      const auto step = OpenStep::draw(generator, first_seed + k * 0x9e3779b97f4a7c15ULL);
      if (step == nullptr || step->kernel() == nullptr) continue;
      const ir::Node& node = step->given().nodes[0];
      Row& row = table[{node.domain + (node.domain.empty() ? "" : ":") + node.op, kind_of(*step->kernel())}];
      ++row.cases;
      for (int attempt = 0; attempt < 6; ++attempt) {
        const auto sizes = step->change();
        if (!sizes) continue;
        ++row.sizes;
        row.again += step->kernel()->resized({step->ports(), sizes->numbers}) != nullptr ? 1 : 0;
      }
    }
  }
  return table;
}

/// Kernels that are made from a context every time.
const std::set<std::string> made_anew = {"contraction", "fill", "group query attention", "interpreter"};

TEST(ResizedTable, SaysWhichKernelsAreMadeAgain) {
  const Table table = table_of_factories();
  std::map<std::string, Row> kinds;
  for (const auto& [key, row] : table) {
    Row& kind = kinds[key.second];
    kind.cases += row.cases;
    kind.sizes += row.sizes;
    kind.again += row.again;
  }
  int resized = 0;
  for (const auto& [kind, row] : kinds) resized += row.again > 0 ? 1 : 0;
  if (std::getenv("AXRUN_RESIZED_TABLE") != nullptr) {
    for (const auto& [key, row] : table)
      std::printf("%-50s %-40s %4d cases %5d sizes %5d made again\n", key.first.c_str(), key.second.c_str(),
                  row.cases, row.sizes, row.again);
    std::printf("%zu kinds of kernels, %d of them made again\n", kinds.size(), resized);
  }
  for (const auto& [kind, row] : kinds) {
    if (row.sizes == 0) continue;
    EXPECT_EQ(row.again == 0, made_anew.contains(kind)) << kind;
  }
}

}  // namespace
}  // namespace axrun::runtime
