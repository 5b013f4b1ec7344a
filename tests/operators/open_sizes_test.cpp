// What operators say of named sizes: a program over names, given numbers, computes what the program for these
// numbers does wherever the guards let the numbers through, and sizes that a definition refuses are not let
// through.
#include "ir/open_sizes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/infer.h"
#include "ir/open_program.h"
#include "ir/sizes_at_hand.h"
#include "tests/kernels/seed.h"
#include "tests/operators/generators.h"

namespace axrun::runtime {
namespace {

using ir::Dim;
using ir::Tensor;
using Programs = std::vector<std::shared_ptr<const ir::Program>>;

ir::Graph graph_of(const Case& given) {
  ir::Graph graph;
  graph.nodes = given.nodes;
  graph.values.resize(given.values.size());
  for (size_t id = 0; id < given.values.size(); ++id)
    if (given.constant[id]) graph.values[id].constant = given.values[id];
  return graph;
}

/// The programs of all nodes; empty where one is not known.
Programs programs_of(ir::Inference& inference) {
  Programs programs;
  for (const ir::Node& node : inference.graph().nodes) {
    programs.push_back(inference.define(node));
    if (!programs.back()) return {};
    inference.conclude(node, *programs.back());
  }
  return programs;
}

/// Extents of the inputs of a case, an extent of one number by one name.
class Sizes {
 public:
  explicit Sizes(const Case& given) {
    for (size_t id = 0; id < given.values.size(); ++id) {
      if (given.constant[id] || !given.values[id].defined()) continue;
      for (const int64_t extent : given.values[id].shape())
        if (extent > 1) numbers_[name_of(extent)] = extent;
    }
  }
  static std::string name_of(int64_t extent) { return fmt::format("n{}", extent); }
  std::map<std::string, int64_t>& numbers() { return numbers_; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, number] : numbers_) names.push_back(name);
    return names;
  }
  std::vector<int64_t> values() const {
    std::vector<int64_t> values;
    for (const auto& [name, number] : numbers_) values.push_back(number);
    return values;
  }

 private:
  std::map<std::string, int64_t> numbers_;
};

std::vector<ir::ValueFact> facts_of(const Case& given, const ir::Graph& graph) {
  std::vector<ir::ValueFact> facts = ir::facts_of_constants(graph);
  for (size_t id = 0; id < facts.size(); ++id) {
    const Tensor& value = given.values[id];
    if (!given.constant[id] && value.defined())
      facts[id] = {value.type(), ir::to_dims(value.shape()), {}, {}};
  }
  return facts;
}

std::vector<ir::ValueFact> open_facts_of(const Case& given, const ir::Graph& graph) {
  std::vector<ir::ValueFact> facts = facts_of(given, graph);
  for (size_t id = 0; id < facts.size(); ++id) {
    if (given.constant[id] || !facts[id].dims) continue;
    for (Dim& dim : *facts[id].dims)
      if (dim.value() > 1) dim = Dim::symbol(Sizes::name_of(dim.value()));
  }
  return facts;
}

/// The same case with other extents; elements are those of the given tensors, again and again.
Case at_sizes(const Case& given, const std::map<std::string, int64_t>& numbers) {
  Case other = given;
  for (size_t id = 0; id < given.values.size(); ++id) {
    const Tensor& value = given.values[id];
    if (given.constant[id] || !value.defined()) continue;
    ir::Shape shape = value.shape();
    for (int64_t& extent : shape)
      if (extent > 1) extent = numbers.at(Sizes::name_of(extent));
    Tensor grown = Tensor::allocate(value.type(), shape);
    for (int64_t k = 0; k < grown.size() && value.size() > 0; ++k) {
      if (ir::is_float(value.type())) {
        grown.set_real(k, value.get_real(k % value.size()));
      } else {
        grown.set_int(k, value.get_int(k % value.size()));
      }
    }
    other.values[id] = grown;
  }
  return other;
}

/// Results of all nodes; an error is its text.
std::vector<Tensor> evaluate(const Case& given, const Programs& programs, std::string& error) {
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
  int open = 0;       ///< cases whose program has names in it
  int elsewhere = 0;  ///< sizes that it was not made from and whose results agree
};

void check_case(const GeneratorEntry& generator, uint64_t seed, Counts& counts) {
  Random random(seed);
  const Case given = generator.draw(random);
  SCOPED_TRACE(fmt::format("seed {}: {}", seed, given.describe()));
  const ir::Graph graph = graph_of(given);
  Sizes sizes(given);
  ir::SizesAtHand at_hand(sizes.numbers());
  Programs open;
  {
    ir::Inference inference(graph, {.sizes = &at_hand}, open_facts_of(given, graph));
    open = programs_of(inference);
  }
  if (open.empty()) return;
  ir::SizeProgram program(sizes.names());
  std::vector<std::pair<size_t, ir::SizeGuard::Relation>> guards;
  for (const ir::SizeGuard& guard : at_hand.guards())
    guards.emplace_back(program.add(guard.difference), guard.relation);
  std::vector<ir::OpenProgram> programs;
  bool is_open = false;
  for (const auto& one : open) {
    programs.emplace_back(one, program);
    is_open = is_open || programs.back().is_open();
  }
  counts.open += is_open ? 1 : 0;
  for (int attempt = 0; attempt < 6; ++attempt) {
    if (attempt > 0) {
      sizes = Sizes(given);
      for (auto& [name, number] : sizes.numbers()) {
        if (random.chance(60)) number += random.chance(30) ? number : random.integer(1, 4);
      }
    }
    const Case other = at_sizes(given, sizes.numbers());
    std::vector<int64_t> values = sizes.values();
    program.run(values);
    bool let_through = true;
    for (const auto& [value, relation] : guards)
      let_through = let_through && ir::SizeGuard::holds(relation, values[value]);
    ASSERT_TRUE(let_through || attempt > 0) << "its own sizes";
    if (!let_through) continue;
    SCOPED_TRACE(fmt::format("as {}", other.describe()));
    ir::Inference inference(graph, {}, facts_of(other, graph));
    Programs closed, wanted;
    try {
      wanted = programs_of(inference);
    } catch (const Error& error) {
      FAIL() << "sizes are let through that are refused: " << error.what();
    }
    ASSERT_FALSE(wanted.empty());
    for (const ir::OpenProgram& one : programs) closed.push_back(one.at(values));
    std::string error, wanted_error;
    const std::vector<Tensor> got = evaluate(other, closed, error);
    const std::vector<Tensor> expected = evaluate(other, wanted, wanted_error);
    ASSERT_EQ(error, wanted_error);
    ASSERT_NO_FATAL_FAILURE(expect_same(got, expected));
    if (attempt > 0 && is_open && values != std::vector<int64_t>()) ++counts.elsewhere;
  }
}

class OpenSizes : public testing::TestWithParam<GeneratorEntry> {};

TEST_P(OpenSizes, GiveWhatNumbersGive) {
  const GeneratorEntry& generator = GetParam();
  Counts counts;
  for (uint64_t k = 0; k < 25; ++k)
    ASSERT_NO_FATAL_FAILURE(check_case(generator, test_seed() + k * 0x9e3779b97f4a7c15ULL, counts));
  RecordProperty("open", counts.open);
  RecordProperty("elsewhere", counts.elsewhere);
  ir::Node node;
  node.op = generator.op;
  node.domain = generator.domain;
  // Their operands are the sizes themselves, which are data here.
  const bool is_of_sizes = generator.op == "ConstantOfShape" || generator.op == "Range";
  if (ir::keeps_sizes_open(node) && !is_of_sizes) {
    EXPECT_GT(counts.elsewhere, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, OpenSizes, testing::ValuesIn(all_generators()),
                         [](const testing::TestParamInfo<GeneratorEntry>& info) {
                           std::string name =
                               std::string(info.param.domain) + "_" + std::string(info.param.op);
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return fmt::format("{}{}", info.param.domain.empty() ? "onnx" : "", name);
                         });

}  // namespace
}  // namespace axrun::runtime
