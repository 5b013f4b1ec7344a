// Every row of all_factories(): kernels on random nodes against the expressions of those nodes in float64,
// and against corrupted expressions, with which they must disagree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "ir/error.h"
#include "runtime/parallel.h"
#include "tests/kernels/seed.h"
#include "tests/operators/corrupt.h"
#include "tests/operators/generators.h"
#include "tests/operators/step.h"

namespace axrun::runtime {
namespace {

/// Cases per generator; AXRUN_OPERATOR_CASES=N asks for more.
int case_count() {
  const char* given = std::getenv("AXRUN_OPERATOR_CASES");
  return given != nullptr ? std::max(1, std::atoi(given)) : 40;
}

/// The rows that are asked for a kernel of an operator.
std::vector<const FactoryEntry*> rows_for(std::string_view domain, std::string_view op) {
  std::vector<const FactoryEntry*> rows;
  for (const FactoryEntry& row : all_factories()) {
    if ((row.domain == domain && row.op == op) || row.op == "*") rows.push_back(&row);
  }
  return rows;
}

struct Counts {
  std::map<const FactoryEntry*, int> accepted;
  int corrupted = 0;
  int noticed = 0;
};

/// Runs the kernel and compares; an exception counts as a difference.
std::string check_kernel(const StepUnderTest& step, const Kernel& kernel, ThreadPool& pool, int in_place,
                         const std::vector<ir::Tensor>& wanted, double tolerance,
                         std::vector<ir::Tensor>& results) {
  try {
    results = step.run(kernel, pool, in_place);
  } catch (const std::exception& error) {
    return error.what();
  }
  return difference(results, wanted, tolerance);
}

/// Draws one case, asks every row for a kernel and checks each kernel that comes.
void check_case(const GeneratorEntry& generator, uint64_t seed, Counts& counts) {
  Random random(seed);
  const Case test_case = generator.draw(random);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, test_case.describe()));
  const int threads = random.chance(50) ? 1 : 3;
  const auto pool = ThreadPool::make(threads);
  const StepUnderTest step(test_case, threads);
  const std::vector<ir::Tensor> wanted = step.evaluate(step.programs());
  std::vector<std::vector<ir::Tensor>> results;
  for (const FactoryEntry* row : rows_for(generator.domain, generator.op)) {
    const auto kernel = row->make(step.context());
    if (kernel == nullptr) continue;
    ++counts.accepted[row];
    SCOPED_TRACE("kernel: " + kernel->describe());
    results.emplace_back();
    ASSERT_EQ(check_kernel(step, *kernel, *pool, -1, wanted, test_case.tolerance, results.back()), "");
    for (int port : kernel->in_place()) {
      const StepPort& input = step.context().inputs[static_cast<size_t>(port)];
      const StepPort& output = step.context().outputs[0];
      if (!input.present || !output.present || kernel->ignores_input(port)) continue;
      if (ir::size_of(input.type) != ir::size_of(output.type) || input.count() != output.count()) continue;
      SCOPED_TRACE(fmt::format("in the place of input {}", port));
      std::vector<ir::Tensor> shared;
      ASSERT_EQ(check_kernel(step, *kernel, *pool, port, wanted, test_case.tolerance, shared), "");
    }
  }
  if (results.empty()) return;
  // The tester itself: another expression must not pass.
  const auto node = static_cast<size_t>(random.integer(0, static_cast<int64_t>(step.programs().size()) - 1));
  for (const Corruption& corruption : corruptions(step.programs()[node], random, 3)) {
    Programs programs = step.programs();
    programs[node] = corruption.program;
    std::vector<ir::Tensor> others;
    try {
      others = step.evaluate(programs);
    } catch (const Error&) {
      continue;  // the change leads out of bounds
    }
    ++counts.corrupted;
    const bool differs =
        std::all_of(results.begin(), results.end(), [&](const std::vector<ir::Tensor>& result) {
          return !difference(result, others, test_case.tolerance).empty();
        });
    counts.noticed += differs ? 1 : 0;
  }
}

class KernelsMatchExpressions : public testing::TestWithParam<GeneratorEntry> {};

TEST_P(KernelsMatchExpressions, OnRandomNodes) {
  const GeneratorEntry& generator = GetParam();
  Counts counts;
  for (int k = 0; k < case_count(); ++k) {
    const uint64_t seed = test_seed() + static_cast<uint64_t>(k) * 0x9e3779b97f4a7c15ULL;
    ASSERT_NO_FATAL_FAILURE(check_case(generator, seed, counts));
  }
  for (const FactoryEntry* row : rows_for(generator.domain, generator.op)) {
    if (row->op == "*") continue;
    EXPECT_GT(counts.accepted[row], 0) << "a factory of " << row->op << " never accepted";
  }
  int accepted = 0;
  for (const auto& [row, count] : counts.accepted) accepted += count;
  RecordProperty("kernels", accepted);
  RecordProperty("corrupted_expressions", counts.corrupted);
  RecordProperty("noticed", counts.noticed);
  if (counts.corrupted >= 10) {
    EXPECT_GE(counts.noticed * 4, counts.corrupted) << counts.noticed << " of " << counts.corrupted
                                                    << " corrupted expressions were told from the right one";
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, KernelsMatchExpressions, testing::ValuesIn(all_generators()),
                         [](const testing::TestParamInfo<GeneratorEntry>& info) {
                           std::string name =
                               std::string(info.param.domain) + "_" + std::string(info.param.op);
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
                           return fmt::format("{}{}", info.param.domain.empty() ? "onnx" : "", name);
                         });

TEST(Factories, EveryNamedRowHasAGenerator) {
  std::set<std::pair<std::string_view, std::string_view>> drawn;
  for (const GeneratorEntry& generator : all_generators()) drawn.insert({generator.domain, generator.op});
  for (const FactoryEntry& row : all_factories()) {
    if (row.op == "*") continue;
    EXPECT_TRUE(drawn.contains({row.domain, row.op})) << row.domain << " " << row.op;
  }
}

TEST(Factories, RowsForEveryOperatorAccept) {
  Counts counts;
  for (const GeneratorEntry& generator : all_generators()) {
    for (uint64_t k = 0; k < 3; ++k) ASSERT_NO_FATAL_FAILURE(check_case(generator, test_seed() + k, counts));
  }
  for (const FactoryEntry& row : all_factories()) {
    if (row.op != "*") continue;
    EXPECT_GT(counts.accepted[&row], 0) << "row " << (&row - all_factories().data());
  }
}

}  // namespace
}  // namespace axrun::runtime
