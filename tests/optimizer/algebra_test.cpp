// Plans of graphs that compute what the model's does in another way.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/host_target.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/known_rules.h"
#include "runtime/optimizer/proving_by_worker.h"
#include "runtime/optimizer/step_expression.h"
#include "runtime/optimizer/worker_process.h"
#include "runtime/plan/fold_weights.h"
#include "runtime/session.h"
#include "search/algebra/graph_rewrite.h"
#include "search/algebra/kernel_cost.h"
#include "tests/algebra/small_terms.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/attention_model.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::ValueId;
using search::algebra::Rule;
using search::algebra::RuleSet;
using search::algebra::TermId;

/// A product with a wide matrix and then with a narrow one, which together are narrow.
ModelMaker low_rank(const ir::Dim& rows) {
  ModelMaker m;
  const ValueId x = m.input("x", ElementType::f32, {rows, 256});
  const ValueId wide = m.node("MatMul", {x, m.weights({256, 384}, 1)});
  m.output(m.node("Relu", {m.node("MatMul", {wide, m.weights({384, 16}, 2)})}));
  return m;
}

void expect_rewritten_near(const Values& got, const Values& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got[k].tensor.shape(), want[k].tensor.shape());
    for (int64_t i = 0; i < want[k].tensor.size(); ++i)
      ASSERT_NEAR(got[k].tensor.get_real(i), want[k].tensor.get_real(i), 2e-3) << "element " << i;
  }
}

OptimizerStatus rewritten(Session& session, const Values& inputs) {
  for (int k = 0; k < 2; ++k) session.run(inputs);
  EXPECT_TRUE(session.wait_for_optimizer(patience));
  return session.optimizer_status();
}

TEST(AlgebraOfPlans, ProductsThatShareAnOperandAreMergedAndAnswersStay) {
  const ModelMaker model = attention();
  const Values input = {RuntimeValue(ModelMaker::random({24, 32}, 9))};
  const Knobs knobs{{"AXRUN_SWAP", "algebra"}};
  const auto session = model.session(one_thread());
  const OptimizerStatus status = rewritten(*session, input);
  ASSERT_EQ(status.algebra.outcome, "rewritten") << text_of(status);
  const auto plan = session->current_plan({input[0].tensor.shape()});
  // Of five; what is joined of constants was joined before the run.
  EXPECT_EQ(products_in(*plan), 3) << text_of(status);
  EXPECT_TRUE(std::none_of(plan->graph().nodes.begin(), plan->graph().nodes.end(),
                           [](const ir::Node& node) { return node.op == "Concat"; }));
  ASSERT_FALSE(status.algebra.windows.empty());
  for (const auto& window : status.algebra.windows) {
    EXPECT_FALSE(window.rules.empty());
    EXPECT_FALSE(window.values.empty());
    for (const AlgebraReport::Rule& rule : window.rules) {
      EXPECT_EQ(rule.equality, "proved") << rule.name;
      EXPECT_EQ(rule.safety, "proved") << rule.name;
      EXPECT_NE(window.steps.find(rule.name), std::string::npos) << rule.name;
    }
  }
  expect_rewritten_near(session->run(input), fallback_answers(model, input));
}

/// The channels of a value by turns, as networks shuffle them: each half is read where it is.
TEST(AlgebraOfPlans, HalvesOfShuffledChannelsNeedNoTranspose) {
  ModelMaker model;
  const ValueId x = model.input("x", ElementType::f32, {1, 16, 6, 7});
  const ValueId split = model.node("Reshape", {x, model.integers({8, 2, 42})});
  const ValueId turned =
      model.node("Transpose", {split}, {{"perm", ModelMaker::attribute(std::vector<int64_t>{1, 0, 2})}});
  const ValueId halves = model.node("Reshape", {turned, model.integers({2, 1, 8, 6, 7})});
  for (const double index : {0.0, 1.0}) {
    const ValueId half =
        model.node("Gather", {halves, model.constant(ir::Tensor::scalar(ElementType::i64, index))});
    model.output(model.node("Conv", {half, model.weights({8, 8, 1, 1}, 1)}));
  }
  const Values input = {RuntimeValue(ModelMaker::random({1, 16, 6, 7}, 9))};
  const Knobs knobs{{"AXRUN_SWAP", "algebra"}};
  const auto session = model.session(one_thread());
  const OptimizerStatus status = rewritten(*session, input);
  ASSERT_EQ(status.algebra.outcome, "rewritten") << text_of(status);
  const auto plan = session->current_plan({input[0].tensor.shape()});
  for (const ir::Node& node : plan->graph().nodes) EXPECT_NE(node.op, "Transpose") << text_of(status);
  expect_rewritten_near(session->run(input), fallback_answers(model, input));
}

TEST(AlgebraOfPlans, IsLeftOutWhereThatIsAskedFor) {
  const Knobs knobs{{"AXRUN_ABLATE", "algebra,schedules"}};
  const Values input = {RuntimeValue(ModelMaker::random({32, 256}, 9))};
  const auto session = low_rank(32).session(one_thread());
  const OptimizerStatus status = rewritten(*session, input);
  EXPECT_EQ(status.algebra.outcome, "");
  EXPECT_EQ(products_in(*session->current_plan({input[0].tensor.shape()})), 2);
}

/// x W + (x A) B with small A and B: the sum of W and A B, which is far larger than A and B, is there before
/// the run. The rules for it are those of two models.
TEST(AlgebraOfPlans, WhatIsMadeOfConstantsIsFoldedHoweverLarge) {
  const ir::Dim rows = 16;
  ModelMaker sum, low;
  ValueId x = sum.input("x", ElementType::f32, {rows, 24});
  const ValueId one = sum.node("MatMul", {x, sum.weights({24, 24}, 1)});
  sum.output(sum.node("Add", {one, sum.node("MatMul", {x, sum.weights({24, 24}, 2)})}));
  x = low.input("x", ElementType::f32, {rows, 192});
  const ValueId wide = low.node("MatMul", {x, low.weights({192, 192}, 1)});
  const ValueId narrow = low.node("MatMul", {x, low.weights({192, 4}, 2)});
  low.output(
      low.node("Relu", {low.node("Add", {wide, low.node("MatMul", {narrow, low.weights({4, 192}, 3)})})}));
  CandidateTools tools;
  tools.target = host_target();
  WorkerProcess worker(WorkerOptions{});
  const StopSignal stop;
  KnownRules rules(nullptr, prover_by(worker, tools, stop));
  std::unique_ptr<Session> session;
  for (const ModelMaker* model : {&sum, &low}) {
    session = model->session(one_thread(Tier::fallback));
    const int64_t columns = model == &sum ? 24 : 192;
    session->prepare({{16, columns}});
    const auto plan = session->current_plan({{16, columns}});
    EXPECT_TRUE(rules.discover(facts_of(*plan), "test", nullptr));
  }
  const auto plan = session->current_plan({{16, 192}});
  search::algebra::GraphRewriteOptions how;
  how.cost = search::algebra::kernel_cost(search::algebra::Movement::is_free);
  // The whole first.
  how.weight = [](const std::vector<ValueId>& values) { return static_cast<double>(values.size()); };
  const ir::Inference facts = facts_of(*plan);
  const auto found = search::algebra::rewrite_graph(facts, rules.usable_for(facts, nullptr), how);
  ASSERT_NE(found.graph, nullptr);
  const auto pool = ThreadPool::make(1);
  ir::Graph limited = *found.graph;
  fold_weights(limited, *pool);
  EXPECT_GT(limited.nodes.size(), 2u);
  fold_weights(*found.graph, *pool, {1024, size_t{1} << 30});
  EXPECT_EQ(found.graph->nodes.size(), 2u);
}

/// Plans for other shapes are the model's own, unless there is something to be done for them.
TEST(AlgebraOfPlans, WhatIsFasterComesIntoForce) {
  const Knobs knobs{{"AXRUN_ABLATE", "schedules"}};
  const ModelMaker model = low_rank(ir::Dim::symbol("rows"));
  const auto session = model.session(one_thread());
  for (const int64_t rows : {32, 17, 32}) {
    const Values input = {RuntimeValue(ModelMaker::random({rows, 256}, 9))};
    const OptimizerStatus status = rewritten(*session, input);
    EXPECT_EQ(status.algebra.outcome, "rewritten") << text_of(status);
    EXPECT_GT(status.algebra.speedup, 1.5);
    if (rows == 32) {
      EXPECT_EQ(products_in(*session->current_plan({input[0].tensor.shape()})), 1);
    }
    expect_rewritten_near(session->run(input), fallback_answers(model, input));
  }
}

// Rules that a session may use
// ------------------------------------------------------------------------------------------

class InMemory : public search::algebra::RuleStore {
 public:
  explicit InMemory(std::string text) : text_(std::move(text)) {}
  std::optional<std::string> load() override { return text_; }
  void save(const std::string& text) override { text_ = text; }
  void reject(const std::string& reason) override { ADD_FAILURE() << reason; }

 private:
  std::string text_;
};

std::shared_ptr<Rule> claimed(const SmallTerms& t, TermId left, TermId right) {
  auto rule = std::make_shared<Rule>(search::algebra::canonical(t.terms, {left}, {right}));
  rule->equality = rule->safety = rule->safety_back = {verify::Verdict::proved, "trust me", 0};
  return rule;
}

TEST(KnownRules, WhatAStoreClaimsIsProvedByTheWorker) {
  SmallTerms t;
  const TermId x = t.input("x", {ir::Dim::symbol("n")});
  const TermId twice = t.call("Relu", {t.call("Relu", {x})});
  const auto truth = claimed(t, twice, t.call("Relu", {x})), lie = claimed(t, t.call("Relu", {x}), x);
  RuleSet set;
  set.add(truth);
  set.add(lie);
  ModelMaker model;
  model.output(model.node("Relu", {model.node("Relu", {model.input("x", ElementType::f32, {8})})}));
  ir::Inference facts(model.graph(), {});
  facts.run();
  CandidateTools tools;
  tools.target = host_target();
  WorkerProcess worker(WorkerOptions{});
  const StopSignal stop;
  KnownRules rules(std::make_unique<InMemory>(set.text()), prover_by(worker, tools, stop));
  const auto usable = rules.usable_for(facts, nullptr);
  ASSERT_EQ(usable.size(), 1u);
  EXPECT_EQ(usable[0]->id, truth->id);
  EXPECT_EQ(usable[0]->equality.text.find("trust me"), std::string::npos);
  EXPECT_EQ(rules.find(lie->id)->equality.verdict, verify::Verdict::unknown);
  // What is of reductions by parts alone is no rewrite: sessions spend nothing on it.
  truth->of_parts = true;
  KnownRules parts(std::make_unique<InMemory>(set.text()), prover_by(worker, tools, stop));
  EXPECT_TRUE(parts.usable_for(facts, nullptr).empty());
  EXPECT_FALSE(parts.find(truth->id)->established);
}

/// A program that is no worker.
TEST(KnownRules, WithoutAWorkerNothingIsUsable) {
  SmallTerms t;
  const TermId x = t.input("x", {ir::Dim::symbol("n")});
  RuleSet set;
  set.add(claimed(t, t.call("Relu", {t.call("Relu", {x})}), t.call("Relu", {x})));
  ModelMaker model;
  model.output(model.node("Relu", {model.node("Relu", {model.input("x", ElementType::f32, {8})})}));
  ir::Inference facts(model.graph(), {});
  facts.run();
  CandidateTools tools;
  tools.target = host_target();
  WorkerOptions nobody;
  nobody.program = "/bin/true";
  WorkerProcess worker(nobody);
  const StopSignal stop;
  KnownRules rules(std::make_unique<InMemory>(set.text()), prover_by(worker, tools, stop));
  EXPECT_TRUE(rules.usable_for(facts, nullptr).empty());
  ModelMaker products = low_rank(32);
  ir::Inference more(products.graph(), {});
  more.run();
  EXPECT_FALSE(rules.discover(more, "test", nullptr));
  EXPECT_EQ(rules.found(), 0);
}

}  // namespace
}  // namespace axrun::tests
