// What operators say of named sizes: a program over names, given numbers, computes what the program for these
// numbers does wherever the guards let the numbers through, and sizes that a definition refuses are not let
// through.
#include "ir/open_sizes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "tests/kernels/seed.h"
#include "tests/operators/open_cases.h"

namespace axrun::runtime {
namespace {

using ir::Tensor;

/// Results of all nodes; an error is its text.
std::vector<Tensor> evaluate(const Case& given, const OpenPrograms& programs, std::string& error) {
  std::vector<Tensor> values = given.values;
  std::vector<Tensor> results;
  try {
    for (size_t n = 0; n < programs.size(); ++n) {
      const ir::Node& node = given.nodes[n];
      std::vector<Tensor> operands(programs[n]->operands.size());
      for (size_t k = 0; k < operands.size(); ++k)
        if (programs[n]->operands[k] != ir::none) operands[k] = values[static_cast<size_t>(node.inputs[k])];
      const std::vector<Tensor> made = ir::evaluate(*programs[n], operands);
      for (size_t k = 0; k < node.outputs.size() && k < made.size(); ++k) {
        if (node.outputs[k] == ir::absent) continue;
        values[static_cast<size_t>(node.outputs[k])] = made[k];
        results.push_back(made[k]);
      }
    }
  } catch (const Error& refusal) {
    error = "refused";
    results.clear();
  }
  return results;
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t k = 0; k < got.size(); ++k) {
    ASSERT_EQ(got[k].defined(), wanted[k].defined());
    if (!got[k].defined()) continue;
    ASSERT_EQ(got[k].type(), wanted[k].type());
    ASSERT_EQ(got[k].shape(), wanted[k].shape());
    if (got[k].type() == ir::ElementType::string || got[k].bytes() == 0) continue;
    ASSERT_EQ(std::memcmp(got[k].data(), wanted[k].data(), got[k].bytes()), 0) << "result " << k;
  }
}

struct Counts {
  int open = 0;  ///< cases whose program has names in it
  /// By domain and operator of the nodes: sizes that the programs were not made from and whose results agree.
  std::map<std::pair<std::string, std::string>, int> elsewhere;
};

void check_case(const GeneratorEntry& generator, uint64_t seed, Counts& counts) {
  Random random(seed);
  const Case given = generator.draw(random);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, given.describe()));
  const ir::Graph graph = graph_of(given);
  const bool by_number = random.chance(50);
  NamedSizes sizes(given, by_number);
  const OpenCase open(given, sizes);
  if (!open.is_known()) return;
  counts.open += open.is_open() ? 1 : 0;
  for (int attempt = 0; attempt < 6; ++attempt) {
    if (attempt > 0) {
      sizes = NamedSizes(given, by_number);
      sizes.change(random);
    }
    const Case other = at_sizes(given, sizes);
    const std::vector<int64_t> values = open.numbers_at(sizes);
    ASSERT_TRUE(open.lets_through(values) || attempt > 0) << "its own sizes";
    if (!open.lets_through(values)) continue;
    SCOPED_TRACE(fmt::format("as {}", other.describe()));
    ir::Inference inference(graph, {}, facts_of(other, graph));
    OpenPrograms closed, wanted;
    try {
      wanted = programs_of(inference);
    } catch (const Error& error) {
      FAIL() << "sizes are let through that are refused: " << error.what();
    }
    ASSERT_FALSE(wanted.empty());
    for (const ir::OpenProgram& one : open.programs()) closed.push_back(one.at(values));
    std::string error, wanted_error;
    const std::vector<Tensor> got = evaluate(other, closed, error);
    const std::vector<Tensor> expected = evaluate(other, wanted, wanted_error);
    ASSERT_EQ(error, wanted_error);
    ASSERT_NO_FATAL_FAILURE(expect_same(got, expected));
    if (attempt == 0 || !open.is_open()) continue;
    for (const ir::Node& node : given.nodes) ++counts.elsewhere[{node.domain, node.op}];
  }
}

class OpenSizes : public testing::TestWithParam<GeneratorEntry> {};

TEST_P(OpenSizes, GiveWhatNumbersGive) {
  Counts counts;
  for (uint64_t k = 0; k < 25; ++k)
    ASSERT_NO_FATAL_FAILURE(check_case(GetParam(), test_seed() + k * 0x9e3779b97f4a7c15ULL, counts));
  RecordProperty("open", counts.open);
}

INSTANTIATE_TEST_SUITE_P(Operators, OpenSizes, testing::ValuesIn(drawn_generators()),
                         [](const testing::TestParamInfo<GeneratorEntry>& info) {
                           return name_of(info.param, info.index);
                         });

/// Nothing is believed of an operator that was not seen.
TEST(OpenSizesOf, EveryOperatorThatKeepsThemAreTried) {
  Counts counts;
  for (const GeneratorEntry& generator : drawn_generators()) {
    for (uint64_t k = 0; k < 12; ++k)
      ASSERT_NO_FATAL_FAILURE(check_case(generator, test_seed() + k * 0x9e3779b97f4a7c15ULL, counts));
  }
  // Their operands are the sizes themselves, which are data here, or there are none.
  const std::set<std::string_view> of_no_sizes = {"Constant", "ConstantOfShape", "Range"};
  for (const ir::OperatorEntry& entry : ir::all_operators()) {
    ir::Node node;
    node.domain = entry.domain;
    node.op = entry.name;
    if (!ir::keeps_sizes_open(node) || of_no_sizes.contains(entry.name)) continue;
    EXPECT_GT((counts.elsewhere[{node.domain, node.op}]), 0) << node.domain << " " << node.op;
  }
}

}  // namespace
}  // namespace axrun::runtime
