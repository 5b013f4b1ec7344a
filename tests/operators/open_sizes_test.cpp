// What operators say of named sizes: a program over names, given numbers, computes what the program for these
// numbers does wherever the guards let the numbers through, and sizes that a definition refuses are not let
// through.
#include "ir/open_sizes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "ir/error.h"
#include "ir/evaluate.h"
#include "ir/infer.h"
#include "ir/open_program.h"
#include "ir/sizes_at_hand.h"
#include "tests/kernels/seed.h"
#include "tests/operators/generators.h"
#include "tests/operators/sized_generators.h"

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

/// Extents of the inputs of a case by name: all that are one number by one name, or each by a name of its
/// own.
class Sizes {
 public:
  Sizes(const Case& given, bool by_number) : by_number_(by_number) {
    for_axes(given,
             [&](size_t id, size_t axis, int64_t extent) { numbers_[name_of(id, axis, extent)] = extent; });
  }
  /// Calls it for every axis that is open.
  static void for_axes(const Case& given, const std::function<void(size_t, size_t, int64_t)>& call) {
    for (size_t id = 0; id < given.values.size(); ++id) {
      if (given.constant[id] || !given.values[id].defined()) continue;
      const ir::Shape& shape = given.values[id].shape();
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (shape[axis] > 1) call(id, axis, shape[axis]);
    }
  }
  std::string name_of(size_t id, size_t axis, int64_t extent) const {
    return by_number_ ? fmt::format("n{}", extent) : fmt::format("v{}a{}", id, axis);
  }
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
  bool by_number_;
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

std::vector<ir::ValueFact> open_facts_of(const Case& given, const ir::Graph& graph, const Sizes& sizes) {
  std::vector<ir::ValueFact> facts = facts_of(given, graph);
  Sizes::for_axes(given, [&](size_t id, size_t axis, int64_t extent) {
    (*facts[id].dims)[axis] = Dim::symbol(sizes.name_of(id, axis, extent));
  });
  return facts;
}

/// The same case with other extents; elements are those of the given tensors, again and again.
Case at_sizes(const Case& given, Sizes& sizes) {
  Case other = given;
  std::vector<ir::Shape> shapes(given.values.size());
  for (size_t id = 0; id < shapes.size(); ++id)
    if (given.values[id].defined()) shapes[id] = given.values[id].shape();
  Sizes::for_axes(given, [&](size_t id, size_t axis, int64_t extent) {
    shapes[id][axis] = sizes.numbers().at(sizes.name_of(id, axis, extent));
  });
  for (size_t id = 0; id < shapes.size(); ++id) {
    const Tensor& value = given.values[id];
    if (given.constant[id] || !value.defined()) continue;
    Tensor grown = Tensor::allocate(value.type(), shapes[id]);
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
  Sizes sizes(given, by_number);
  ir::SizesAtHand at_hand(sizes.numbers());
  Programs open;
  {
    ir::Inference inference(graph, {.sizes = &at_hand}, open_facts_of(given, graph, sizes));
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
      sizes = Sizes(given, by_number);
      for (auto& [name, number] : sizes.numbers()) {
        if (!random.chance(by_number ? 60 : 25)) continue;
        number = random.chance(30) ? 2 * number : random.integer(2, number + 4);
      }
    }
    const Case other = at_sizes(given, sizes);
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
    if (attempt == 0 || !is_open) continue;
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

std::vector<GeneratorEntry> drawn() {
  std::vector<GeneratorEntry> all = all_generators();
  const std::vector<GeneratorEntry> more = sized_generators();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

INSTANTIATE_TEST_SUITE_P(Operators, OpenSizes, testing::ValuesIn(drawn()),
                         [](const testing::TestParamInfo<GeneratorEntry>& info) {
                           std::string name =
                               fmt::format("{}_{}_{}", info.param.domain.empty() ? "onnx" : info.param.domain,
                                           info.param.op, info.index);
                           for (char& c : name)
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           return name;
                         });

/// Nothing is believed of an operator that was not seen.
TEST(OpenSizesOf, EveryOperatorThatKeepsThemAreTried) {
  Counts counts;
  for (const GeneratorEntry& generator : drawn()) {
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
