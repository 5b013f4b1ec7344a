// Values stored in other layouts than the model's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/layout_sites.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/plan/lay_out.h"
#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"
#include "tests/runtime/options.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using ir::ElementType;
using ir::ValueId;

ValueId convolution(ModelMaker& m, ValueId x, int64_t from, int64_t to, int64_t window, uint64_t seed,
                    int64_t group = 1) {
  const int64_t edge = window / 2;
  return m.node("Conv", {x, m.weights({to, from / group, window, window}, seed), m.weights({to}, seed + 1)},
                {{"kernel_shape", ModelMaker::attribute(std::vector<int64_t>{window, window})},
                 {"pads", ModelMaker::attribute(std::vector<int64_t>{edge, edge, edge, edge})},
                 {"group", ModelMaker::attribute(group)}});
}

/// A stem, a residual, depthwise windows, a Concat of channels, a pool.
ValueId body(ModelMaker& m, ValueId x, std::vector<ValueId>* inner = nullptr) {
  const ValueId stem = m.node("Relu", {convolution(m, x, 3, 8, 3, 1)});
  const ValueId wide = m.node("Relu", {convolution(m, stem, 8, 24, 1, 3)});
  const ValueId deep = m.node("Relu", {convolution(m, wide, 24, 24, 3, 5, 24)});
  const ValueId sum = m.node("Add", {convolution(m, deep, 24, 8, 1, 7), stem});
  const ValueId together = m.node("Concat", {sum, convolution(m, sum, 8, 16, 1, 9)},
                                  {{"axis", ModelMaker::attribute(int64_t{1})}});
  if (inner != nullptr) *inner = {deep, sum, together};
  return m.node("MaxPool", {together},
                {{"kernel_shape", ModelMaker::attribute(std::vector<int64_t>{2, 2})},
                 {"strides", ModelMaker::attribute(std::vector<int64_t>{2, 2})}});
}

ValueId image(ModelMaker& m, const ir::Dim& batch) {
  return m.input("x", ElementType::f32, {batch, 3, 10, 14});
}

ModelMaker small_images(const ir::Dim& batch) {
  ModelMaker m;
  m.output(convolution(m, body(m, image(m, batch)), 24, 5, 1, 11));
  return m;
}

void expect_laid_out_near(const Values& got, const Values& want, const std::string& where) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t k = 0; k < want.size(); ++k) {
    ASSERT_EQ(got[k].tensor.shape(), want[k].tensor.shape()) << where;
    for (int64_t i = 0; i < want[k].tensor.size(); ++i) {
      ASSERT_NEAR(got[k].tensor.get_real(i), want[k].tensor.get_real(i), 1e-4)
          << where << ", output " << k << " element " << i;
    }
  }
}

/// Conversions that are steps by themselves; no model here has Transposes of its own.
int conversions_in(const Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps().begin(), plan.steps().end(),
                                        [](const Step& step) { return step.work->ops == "Transpose"; }));
}

/// Has everything laid out channels-last, and compares the answers with the fallback's.
std::unique_ptr<Session> laid_out(const ModelMaker& model, const Values& inputs) {
  const Knobs knobs{{"AXRUN_SWAP", "layouts"}};
  auto session = model.session(one_thread());
  for (int k = 0; k < 2; ++k) session->run(inputs);
  EXPECT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_EQ(status.layouts.outcome, "channels-last") << text_of(status);
  EXPECT_GT(status.layouts.values, 0);
  expect_laid_out_near(session->run(inputs), fallback_answers(model, inputs), text_of(status));
  return session;
}

TEST(LayoutsOfPlans, ForcedOnesChangeNoAnswer) {
  const Values input = {RuntimeValue(ModelMaker::random({2, 3, 10, 14}, 9))};
  const auto session = laid_out(small_images(2), input);
  const OptimizerStatus status = session->optimizer_status();
  // Most kernels read and make the layouts themselves.
  EXPECT_GT(status.layouts.values, 4) << text_of(status);
  const auto plan = session->current_plan({input[0].tensor.shape()});
  const auto reads = [](const Step& step) {
    return step.work->ops.find("Transpose+Conv") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(plan->steps().begin(), plan->steps().end(), reads)) << text_of(status);
  EXPECT_LE(conversions_in(*plan), 6);
}

/// Steps and records are known to each other by the name and the operators of a step.
TEST(LayoutsOfPlans, EveryGeneratedStepHasARecord) {
  const Values input = {RuntimeValue(ModelMaker::random({2, 3, 10, 14}, 9))};
  const auto session = laid_out(small_images(2), input);
  const OptimizerStatus status = session->optimizer_status();
  const auto plan = session->current_plan({input[0].tensor.shape()});
  const std::vector<ir::Node>& nodes = session->model().graph->nodes;
  int converting = 0;
  for (const Step& step : plan->steps()) {
    if (dynamic_cast<const JitKernel*>(step.kernel.get()) == nullptr) continue;
    const std::string& name = step.work->node->name;
    if (step.work->ops.starts_with("Transpose+")) {
      ++converting;
      EXPECT_TRUE(
          std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node& node) { return node.name == name; }))
          << name << " is no name of the model's";
    }
    EXPECT_TRUE(std::any_of(status.kernels.begin(), status.kernels.end(),
                            [&](const OptimizedKernel& kernel) {
                              return kernel.ops == step.work->ops &&
                                     std::find(kernel.nodes.begin(), kernel.nodes.end(), name) !=
                                         kernel.nodes.end();
                            }))
        << name << " " << step.work->ops;
  }
  EXPECT_GT(converting, 0) << text_of(status);
}

/// Plans for other batches than the one for which layouts were chosen may be plain; kernels serve both.
TEST(LayoutsOfPlans, BatchesMayBeOpen) {
  const ModelMaker model = small_images(ir::Dim::symbol("batch"));
  const Values two = {RuntimeValue(ModelMaker::random({2, 3, 10, 14}, 9))};
  const auto session = laid_out(model, two);
  const auto plan = session->current_plan({two[0].tensor.shape()});
  EXPECT_GT(plan->graph().nodes.size(), session->model().graph->nodes.size() + 4);
  const Values five = {RuntimeValue(ModelMaker::random({5, 3, 10, 14}, 10))};
  for (const Values& input : {five, two, five}) {
    expect_laid_out_near(session->run(input), fallback_answers(model, input),
                         text_of(session->optimizer_status()));
    EXPECT_TRUE(session->wait_for_optimizer(patience));
  }
}

TEST(LayoutsOfPlans, ResultsInTheMiddleStayPlain) {
  ModelMaker model;
  std::vector<ValueId> inner;
  const ValueId end = body(model, image(model, 1), &inner);
  for (const ValueId id : inner) model.output(id);
  model.output(end);
  laid_out(model, {RuntimeValue(ModelMaker::random({1, 3, 10, 14}, 9))});
}

ir::Attribute branch(ValueId outer, const std::string& op) {
  ModelMaker inside;
  ir::Value value;
  value.name = "captured";
  const ValueId inner = inside.graph().add_value(value);
  inside.graph().captures.emplace_back(outer, inner);
  inside.output(inside.node(op, {inside.node("Abs", {inner})}));
  auto graph = std::make_shared<ir::Graph>(inside.graph());
  graph->name = op;
  for (ir::Value& one : graph->values) one.name = op + one.name;
  for (ir::Node& node : graph->nodes) node.name = op + node.name;
  return ModelMaker::attribute(std::move(graph));
}

TEST(LayoutsOfPlans, BodiesReadWhatTheModelHas) {
  ModelMaker model;
  const ValueId choose = model.input("choose", ElementType::boolean, {});
  const ValueId end = body(model, image(model, 1));
  const ValueId chosen = model.node(
      "If", {choose}, {{"then_branch", branch(end, "Tanh")}, {"else_branch", branch(end, "Sqrt")}});
  model.output(convolution(model, end, 24, 4, 3, 21));
  model.output(chosen);
  for (const bool which : {true, false}) {
    laid_out(model, {RuntimeValue(ir::Tensor::scalar(ElementType::boolean, which ? 1 : 0)),
                     RuntimeValue(ModelMaker::random({1, 3, 10, 14}, 9))});
  }
}

TEST(LayoutsOfPlans, AreThoseOfTheModelWhereTheyAreLeftOut) {
  const ModelMaker model = small_images(1);
  const Knobs knobs{{"AXRUN_ABLATE", "fusion,layouts,schedules"}};
  const auto session = model.session(one_thread());
  const Values input = {RuntimeValue(ModelMaker::random({1, 3, 10, 14}, 9))};
  for (int k = 0; k < 2; ++k) session->run(input);
  EXPECT_TRUE(session->wait_for_optimizer(patience));
  EXPECT_EQ(session->optimizer_status().layouts.outcome, "");
}

/// Whatever turns out to be faster: the answers are the same, and there is a reason.
TEST(LayoutsOfPlans, AreDecidedByTimes) {
  const ModelMaker model = small_images(4);
  const Knobs knobs{{"AXRUN_ABLATE", "fusion,schedules"}};
  const auto session = model.session(one_thread());
  const Values input = {RuntimeValue(ModelMaker::random({4, 3, 10, 14}, 9))};
  for (int k = 0; k < 2; ++k) session->run(input);
  EXPECT_TRUE(session->wait_for_optimizer(patience));
  const OptimizerStatus status = session->optimizer_status();
  EXPECT_GT(status.layouts.sites, 4) << text_of(status);
  EXPECT_TRUE(status.layouts.outcome == "channels-last" || status.layouts.outcome.starts_with("plain: "))
      << text_of(status);
  expect_laid_out_near(session->run(input), fallback_answers(model, input), text_of(status));
}

// Without a session: what the optimiser does with kernels that cannot be had
// ----------------------------------

/// Runs the model under an optimiser that forces layouts and lowers with `lower`; returns the plan in force
/// then.
std::shared_ptr<const Plan> forced(const ModelMaker& model, const Values& inputs, LowerFunction lower,
                                   Values* answers, OptimizerStatus* status) {
  const auto session = model.session(one_thread(Tier::fallback));
  const auto pool = ThreadPool::make(1);
  const auto packs = std::make_shared<PackCache>();
  PlanTable plans{4};
  OptimizerHost host;
  host.graph = session->model().graph;
  host.plans = &plans;
  host.build = [&](const Values& values, std::shared_ptr<KernelSource> kernels) {
    PlanOptions how;
    how.packs = packs;
    how.kernels = std::move(kernels);
    ir::ValueFact fact;
    fact.type = values[0].tensor.type();
    fact.dims = ir::to_dims(values[0].tensor.shape());
    return build_plan(host.graph, host.graph->inputs, {fact}, how);
  };
  OptimizerSettings settings;
  settings.standing = Standing::ordinary;
  settings.always = true;
  settings.join = false;
  settings.force_layouts = true;
  settings.lower = std::move(lower);
  Optimizer optimizer(host, settings);
  const std::vector<ir::Shape> shapes = shapes_of(inputs);
  plans.publish(shapes, host.build(inputs, optimizer.library()));
  answers->resize(host.graph->outputs.size());
  for (int k = 0; k < 3; ++k) {
    const PlanTable::Pinned pinned = plans.find(inputs, [] { return std::shared_ptr<const Plan>(); });
    pinned.plan->run(inputs, *answers, {*pool});
    optimizer.ran(*pinned.plan, inputs, 1);
    EXPECT_TRUE(optimizer.wait(patience));
  }
  *status = optimizer.status();
  return plans.current(shapes);
}

search::Lowered without_layouts(const ir::Program& expression, const search::Sizes& sizes,
                                const std::vector<bool>& constant, const jit::Target& target, size_t rank) {
  if (expression.name.find("Transpose") == std::string::npos)
    return search::lower(expression, sizes, constant, target, rank);
  search::Lowered none;
  none.reason = "it is in another layout";
  return none;
}

TEST(LayoutsOfPlans, RefusedKernelsLeaveConversionsOnTheirOwn) {
  const ModelMaker model = small_images(1);
  const Values input = {RuntimeValue(ModelMaker::random({1, 3, 10, 14}, 9))};
  const Values want = fallback_answers(model, input);
  Values answers;
  OptimizerStatus status;
  const auto with = forced(model, input, {}, &answers, &status);
  expect_laid_out_near(answers, want, text_of(status));
  EXPECT_LE(conversions_in(*with), 6) << text_of(status);
  const auto without = forced(model, input, without_layouts, &answers, &status);
  expect_laid_out_near(answers, want, text_of(status));
  EXPECT_EQ(status.layouts.outcome, "channels-last") << text_of(status);
  EXPECT_GT(conversions_in(*without), 8) << text_of(status);
}

// What the choice is made of
// ------------------------------------------------------------------------------------

std::shared_ptr<const Plan> plan_of(const ModelMaker& model, const ir::Shape& shape,
                                    std::unique_ptr<Session>& session) {
  session = model.session(one_thread(Tier::fallback));
  session->prepare({shape});
  return session->current_plan({shape});
}

TEST(LayoutSites, AreStepsThatTreatChannelsAlike) {
  ModelMaker model;
  const ValueId end = body(model, image(model, 2));
  const ValueId line = model.node("Reshape", {end, model.integers({2, -1})});
  model.output(model.node("Softmax", {line}));
  std::unique_ptr<Session> session;
  const auto plan = plan_of(model, {2, 3, 10, 14}, session);
  const LayoutSites found = find_layout_sites(*plan);
  int joined = 0;
  for (const LayoutSite& site : found.sites) {
    const std::string& ops = plan->steps()[site.step].work->ops;
    EXPECT_EQ(ops.find("Softmax"), std::string::npos);
    EXPECT_FALSE(site.inputs.empty()) << ops;
    EXPECT_EQ(site.outputs.size(), 1u) << ops;
    joined += site.input_by_input ? 1 : 0;
  }
  EXPECT_EQ(found.sites.size(), 7u);
  EXPECT_EQ(joined, 1);
  int made = 0, wanted = 0;
  for (const auto& [id, value] : found.values) {
    made += value.is_made ? 1 : 0;
    wanted += value.is_wanted ? 1 : 0;
  }
  EXPECT_EQ(made, 7);
  EXPECT_EQ(wanted, 1);  // what the Reshape reads
  EXPECT_EQ(found.values.size(), 8u);
}

TEST(LayoutSites, AreNearWindows) {
  ModelMaker model;
  const ValueId x = model.input("x", ElementType::f32, {2, 6, 8});
  model.output(model.node("Softmax", {model.node("Tanh", {x})}));
  std::unique_ptr<Session> session;
  EXPECT_TRUE(find_layout_sites(*plan_of(model, {2, 6, 8}, session)).sites.empty());
}

search::layouts::LayoutChoice solved_here(const search::layouts::LayoutProblem& problem) {
  return search::layouts::choose_layouts(problem);
}

TEST(LayoutSites, AreMovedWhereThatPaysForTheConversions) {
  std::unique_ptr<Session> session;
  const auto plan = plan_of(small_images(1), {1, 3, 10, 14}, session);
  LayoutSites found = find_layout_sites(*plan);
  for (LayoutSite& site : found.sites) site.plain_microseconds = 10;
  EXPECT_EQ(decide_layouts(*plan, found, 1e-5, solved_here).values_moved, 0)
      << "nothing is known to be faster";
  // One that is faster by little, another one by much; between them nothing has a price but the plain one.
  found.sites[1].last_microseconds = 9.8;
  found.sites[3].last_microseconds = 2;
  const LayoutDecision cheap = decide_layouts(*plan, found, 1e-5, solved_here);
  EXPECT_EQ(std::count(cheap.moved.begin(), cheap.moved.end(), true), 1);
  EXPECT_TRUE(cheap.moved[3]);
  EXPECT_TRUE(cheap.is_best);
  EXPECT_GT(cheap.gain_microseconds, 5);
  EXPECT_EQ(decide_layouts(*plan, found, 1, solved_here).values_moved, 0) << "conversions are dear";
  // Everything is, by a little each: conversions at the ends only.
  for (LayoutSite& site : found.sites) site.last_microseconds = 9.7;
  const LayoutDecision all = decide_layouts(*plan, found, 1e-5, solved_here);
  EXPECT_EQ(std::count(all.moved.begin(), all.moved.end(), true),
            static_cast<std::ptrdiff_t>(found.sites.size()));
}

TEST(LayOut, KeepsWhatGraphsShare) {
  std::unique_ptr<Session> session;
  const auto plan = plan_of(small_images(1), {1, 3, 10, 14}, session);
  const LayoutDecision all = all_channels_last(*plan, find_layout_sites(*plan));
  const LaidOut other = lay_out(*plan, all.values, all.reads);
  EXPECT_EQ(other.graph->inputs, plan->graph().inputs);
  EXPECT_EQ(other.graph->outputs, plan->graph().outputs);
  for (size_t id = 0; id < plan->graph().values.size(); ++id) {
    const ir::Tensor& constant = plan->graph().values[id].constant;
    EXPECT_EQ(other.graph->values[id].constant.data(), constant.data());
  }
  for (size_t s = 0; s < plan->steps().size(); ++s) {
    const size_t nodes = plan->steps()[s].work->nodes.size();
    ASSERT_EQ(other.steps[s].size(), nodes);
    EXPECT_GT(other.converting_steps[s].size(), nodes);
    EXPECT_TRUE(std::includes(other.converting_steps[s].begin(), other.converting_steps[s].end(),
                              other.steps[s].begin(), other.steps[s].end()));
  }
}

}  // namespace
}  // namespace axrun::tests
