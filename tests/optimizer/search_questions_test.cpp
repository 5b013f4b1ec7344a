// What the host asks its helper of search/, and what it makes of the answers.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "ir/error.h"
#include "runtime/optimizer/algebra_question.h"
#include "runtime/optimizer/bilinear_question.h"
#include "runtime/optimizer/graph_outline.h"
#include "runtime/optimizer/layouts_question.h"
#include "runtime/optimizer/searching.h"
#include "runtime/warm/graph_image.h"
#include "runtime/warm/model_identity.h"
#include "search/algebra/graph_writer.h"
#include "tests/optimizer/control_models.h"
#include "tests/optimizer/same_graph.h"

namespace axrun::tests {
namespace {

/// Two products that are one, a ConstantOfShape whose attribute is a tensor, an If that reads the products'
/// result. Weights, which are the same ones twice, are far larger than what is sent.
ModelMaker with_body() {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {8, 64});
  const ValueId narrow = m.weights({64, 24}, 2), again = m.weights({64, 24}, 2);
  const ValueId wide = m.node("MatMul", {x, m.weights({64, 64}, 1)});
  const ValueId product = m.node("MatMul", {wide, narrow});
  const ValueId other = m.node("MatMul", {x, again});
  ir::Attribute value;
  value.kind = ir::Attribute::Kind::tensor;
  value.tensor = ir::Tensor::scalar(ElementType::f32, 2).reshaped({1});
  const ValueId twos = m.node("ConstantOfShape", {m.integers({8, 24})}, {{"value", value}});
  const ValueId condition = m.node("Less", {m.integers({1}), m.integers({2})});
  m.output(m.node("Add", {m.node("Add", {product, other}), twos}));
  m.output(
      m.node("If", {condition}, {{"then_branch", branch(product, 5)}, {"else_branch", branch(product, 7)}}));
  return m;
}

ir::Inference facts_in(const ir::Graph& graph) {
  ir::Inference facts(graph, {});
  for (const ir::Node& node : graph.nodes) {
    if (!ir::bodies_of(node).empty()) continue;
    if (const auto program = facts.define(node)) facts.conclude(node, *program);
  }
  return facts;
}

TEST(GraphOutline, HasEverythingButLargeConstantsAndBodies) {
  ModelMaker model = with_body();
  const ir::Graph& graph = model.graph();
  const ir::Inference facts = facts_in(graph);
  const std::string bytes = write_outline(facts, ConstantContents::known);
  EXPECT_LT(bytes.size(), 8192u);
  const GraphOutline outline(bytes);
  ASSERT_EQ(outline.graph().values.size(), graph.values.size());
  std::map<uint64_t, int> contents;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const ir::Value &got = outline.graph().values[id], &want = graph.values[id];
    EXPECT_EQ(got.name, want.name);
    const ir::ValueFact &fact = outline.facts().facts()[id], &known = facts.facts()[id];
    EXPECT_EQ(fact.type, known.type);
    EXPECT_EQ(fact.dims, known.dims);
    ASSERT_EQ(got.constant.defined(), want.constant.defined());
    ASSERT_EQ(fact.constant.defined(), known.constant.defined());
    if (!known.constant.defined()) continue;
    EXPECT_EQ(fact.constant.shape(), known.constant.shape());
    if (known.constant.bytes() > 1024) {
      ++contents[outline.content(fact.constant)];
    } else {
      EXPECT_EQ(std::memcmp(fact.constant.data(), known.constant.data(), known.constant.bytes()), 0);
    }
  }
  EXPECT_EQ(contents.size(), 2u) << "of three, two have the same elements";
  ASSERT_EQ(outline.graph().nodes.size(), graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    EXPECT_EQ(outline.graph().nodes[n].name, graph.nodes[n].name);
    EXPECT_EQ(outline.graph().nodes[n].outputs, graph.nodes[n].outputs);
    EXPECT_EQ(ir::reads_of(outline.graph().nodes[n]), ir::reads_of(graph.nodes[n])) << graph.nodes[n].op;
  }
  for (size_t length = 0; length < bytes.size(); length += 11)
    EXPECT_THROW(GraphOutline{bytes.substr(0, length)}, Error);
}

/// The whole way of identities, by a helper: rules, windows, the graph.
TEST(Searches, ByTheHelperGiveWhatTheyGiveHere) {
  ModelMaker model = with_body();
  const ir::Graph& graph = model.graph();
  const ir::Inference facts = facts_in(graph);
  WorkerProcess worker{WorkerOptions{}};
  const StopSignal stop;
  RulesKnown known;
  int rules = 0;
  const SearchListener listener{{}, [&](std::string_view bytes) {
                                  const RuleNote note = read_note(bytes);
                                  if (note.kind == RuleNote::Kind::proved)
                                    known.proofs[note.text] = note.evidence;
                                  if (note.kind == RuleNote::Kind::rule) ++rules;
                                }};
  const std::string outline = write_outline(facts, ConstantContents::known);
  const auto ask = [&](WorkerStage stage, const std::string& question) {
    return *ask_search(worker, stop, stage, question, SearchTerms(), listener).found;
  };
  const RulesAnswer found =
      read_rules_answer(ask(WorkerStage::looking_for_rules, write(RulesQuestion{outline, "a model", known})));
  EXPECT_TRUE(found.complete);
  EXPECT_GT(rules, 0);
  known.stored = found.rules;
  EXPECT_EQ(ask(WorkerStage::merging_rules, write(MergeQuestion{"", known})), found.rules);
  EXPECT_EQ(ask(WorkerStage::merging_rules, write(MergeQuestion{found.rules, known})), "")
      << "nothing is new";
  WindowsQuestion question;
  question.outline = outline;
  question.known = known;
  question.times = {1};
  for (const ir::Node& node : graph.nodes) question.step_of[node.outputs[0]] = 0;
  const size_t proofs = known.proofs.size();
  const WindowsAnswer windows = read_windows_answer(ask(WorkerStage::rewriting_windows, write(question)));
  EXPECT_EQ(known.proofs.size(), proofs) << "what is proved is not proved again";
  EXPECT_GT(windows.rules, 0);
  ASSERT_FALSE(windows.windows.empty());
  std::vector<search::algebra::WindowRecipe> recipes;
  for (const auto& one : windows.windows) recipes.push_back(one.window.recipe);
  const auto here = search::algebra::rewritten(graph, recipes);
  ASSERT_NE(here, nullptr);
  const auto there =
      read_graph(ask(WorkerStage::writing_graph, write(GraphQuestion{outline, recipes})), graph);
  ASSERT_NE(there, nullptr);
  expect_same_graph(*there, *here);
  const auto alone = graphs_by_helper(WorkerOptions{})(graph, recipes);
  ASSERT_NE(alone, nullptr);
  expect_same_graph(*alone, *here);
  // A recipe of another graph, and one that makes no sense.
  recipes[0].values[0] = 10000;
  EXPECT_EQ(ask(WorkerStage::writing_graph, write(GraphQuestion{outline, recipes})), "");
  recipes[0].text = "no window";
  EXPECT_THROW(ask(WorkerStage::writing_graph, write(GraphQuestion{outline, recipes})), SearchFailed);
  EXPECT_EQ(worker.starts(), 1);
}

TEST(Searches, EndWhereTheHostDoesNotWantThem) {
  ModelMaker model = with_body();
  WorkerProcess worker{WorkerOptions{}};
  const StopSignal stop;
  const std::string outline = write_outline(facts_in(model.graph()), ConstantContents::known);
  int asked = 0;
  const SearchListener listener{[&] { return ++asked < 3; }, {}};
  const RulesAnswer found =
      read_rules_answer(*ask_search(worker, stop, WorkerStage::looking_for_rules,
                                    write(RulesQuestion{outline, "a model", {}}), SearchTerms(), listener)
                             .found);
  EXPECT_FALSE(found.complete);
  EXPECT_LE(asked, 8);
}

search::layouts::LayoutProblem chain() {
  search::layouts::LayoutProblem problem;
  for (int v = 0; v < 3; ++v) problem.values.push_back({v == 0 ? 1u : 3u, v == 2 ? 1u : 0u, {0, 1, 1, 0}});
  for (int n = 0; n < 2; ++n)
    problem.nodes.push_back(
        {{n}, {n + 1}, {{{0, 1}, {9, search::layouts::infinite, search::layouts::infinite, 2}}}});
  return problem;
}

TEST(Searches, LayoutsAreThoseThatAreChosenHere) {
  WorkerProcess worker{WorkerOptions{}};
  const StopSignal stop;
  const search::layouts::LayoutProblem problem = chain();
  const auto here = search::layouts::choose_layouts(problem);
  const std::string bytes =
      *ask_search(worker, stop, WorkerStage::choosing_layouts, write_layout_problem(problem), SearchTerms())
           .found;
  EXPECT_EQ(bytes, write_layout_choice(here));
  EXPECT_EQ(here.made, (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(read_layout_choice(bytes, problem).reads, here.reads);
}

/// Nothing that a helper says ends its host.
TEST(Searches, DamagedAnswersAreRefusedOrRead) {
  const search::layouts::LayoutProblem problem = chain();
  WindowsAnswer windows;
  windows.rules_used["a"] = "rule a";
  windows.windows.resize(1);
  windows.windows[0].window.uses = {{"a", true}};
  windows.windows[0].window.values = {1, 2};
  windows.windows[0].window.recipe = {"text", {1, -1}, {{2}}};
  windows.windows[0].report.values = {"value"};
  search::algebra::BilinearSite site;
  site.image = site.filters = site.result = 3;
  site.pads = {1, 1, 1, 1};
  const BilinearAnswer bilinear{"image", {{{4, 5}, 5}}, {1e30}, {4096}};
  const std::vector<std::pair<std::string, std::function<void(std::string_view)>>> readers = {
      {write_layout_choice(search::layouts::choose_layouts(problem)),
       [&](std::string_view bytes) {
         const auto choice = read_layout_choice(bytes, problem);
         for (const int made : choice.made) ASSERT_LT(static_cast<unsigned>(made), 2u);
         for (const auto& reads : choice.reads)
           for (const int read : reads) ASSERT_LT(static_cast<unsigned>(read), 2u);
       }},
      {write(windows),
       [](std::string_view bytes) {
         const WindowsAnswer read = read_windows_answer(bytes);
         for (const auto& one : read.windows)
           for (const auto& [rule, forward] : one.window.uses) ASSERT_EQ(read.rules_used.count(rule), 1u);
       }},
      {write_note({RuleNote::Kind::proved, "key", {{verify::Verdict::proved, "text", 1}, {}, {}}}),
       [](std::string_view bytes) {
         ASSERT_LE(read_note(bytes).evidence.equality.verdict, verify::Verdict::unknown);
       }},
      {write(RulesAnswer{true, "rules"}), [](std::string_view bytes) { read_rules_answer(bytes); }},
      {write_convolutions({{site, "kind"}}),
       [](std::string_view bytes) {
         for (const FoundConvolution& one : read_convolutions(bytes, 2, 8)) {
           ASSERT_LT(static_cast<unsigned>(one.site.node), 2u);
           ASSERT_LT(static_cast<unsigned>(one.site.image), 8u);
         }
       }},
      {write(bilinear),
       [](std::string_view bytes) { ASSERT_EQ(read_bilinear_answer(bytes, 1).rooms.size(), 1u); }},
      {write(BilinearProof{verify::Verdict::proved, 2}), [](std::string_view bytes) {
         ASSERT_LE(read_bilinear_proof(bytes).verdict, verify::Verdict::unknown);
       }}};
  constexpr unsigned seed = 20261;
  std::mt19937 random(seed);
  int refused = 0;
  for (const auto& [bytes, read] : readers) {
    read(bytes);
    for (size_t length = 0; length < bytes.size(); ++length)
      EXPECT_THROW(read(std::string_view(bytes).substr(0, length)), Error) << length;
    for (int round = 0; round < 500; ++round) {
      std::string damaged = bytes;
      for (unsigned change = random() % 3 + 1; change > 0; --change)
        damaged[random() % damaged.size()] = static_cast<char>(random());
      try {
        read(damaged);
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000) << "seed " << seed;
}

}  // namespace
}  // namespace axrun::tests
