// What the optimiser does with kernels that turn out slower: alone, in the model, and in real runs.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/session.h"
#include "tests/optimizer/knobs.h"
#include "tests/runtime/models.h"

namespace axrun::tests {
namespace {

using namespace runtime;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr double patience = 120;

/// A generated kernel with something in its way.
class HinderedKernel final : public JitKernel {
 public:
  HinderedKernel(const JitKernelParts& parts, const std::atomic<bool>& hindered)
      : JitKernel(parts), hindered_(hindered) {}
  void run(const KernelCall& call) const override {
    JitKernel::run(call);
    // Busy all the while: what a thread does not use of a processor is not counted.
    const auto end = std::chrono::steady_clock::now() + microseconds(2000);
    while (hindered_ && std::chrono::steady_clock::now() < end) {
    }
  }

 private:
  const std::atomic<bool>& hindered_;
};

/// The library's kernels, as they turn out in plans.
class HinderedSource final : public KernelSource {
 public:
  HinderedSource(std::shared_ptr<KernelSource> source, const std::atomic<bool>& hindered, size_t fewest_nodes)
      : source_(std::move(source)), hindered_(hindered), fewest_nodes_(fewest_nodes) {}
  Found find(const ir::Graph& graph, const std::vector<int>& nodes, const StepContext& context) override {
    Found found = source_->find(graph, nodes, context);
    const auto* jit = dynamic_cast<const JitKernel*>(found.kernel.get());
    if (jit != nullptr && nodes.size() >= fewest_nodes_) {
      found.kernel = std::make_shared<HinderedKernel>(jit->parts(), hindered_);
    }
    return found;
  }
  std::vector<std::vector<int>> joined_groups(const ir::Graph& graph) override {
    return source_->joined_groups(graph);
  }

 private:
  std::shared_ptr<KernelSource> source_;
  const std::atomic<bool>& hindered_;
  size_t fewest_nodes_;
};

/// y = x * w + b over [128, 64], which the generated kernel computes faster than the precompiled one.
ModelMaker broadcast_model(const ir::Dim& rows) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {rows, 64});
  ir::ValueId a = m.node("Mul", {x, m.weights({64}, 1)});
  a = m.node("Add", {a, rows.is_constant() ? m.weights({128, 1}, 2) : m.weights({64}, 2)});
  m.output(a);
  return m;
}

/// Two steps over [128, 64], the second of which reads every row of the first.
ModelMaker two_steps() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {128, 64});
  const ir::ValueId a = m.node("Abs", {x});
  m.output(m.node("Softmax", {a}, {{"axis", ModelMaker::attribute(int64_t{-1})}}));
  return m;
}

/// A session's parts, with a plan table of its own and an optimiser on it.
class Bench {
 public:
  explicit Bench(LowerFunction lower = search::lower, const ir::Dim& rows = 128)
      : Bench(broadcast_model(rows), 1, std::move(lower)) {}
  /// Kernels of fewer nodes are never hindered.
  Bench(const ModelMaker& model, size_t fewest_nodes, LowerFunction lower = search::lower)
      : session_(make_session(model)) {
    OptimizerHost host;
    host.graph = session_->model().graph;
    host.plans = &plans_;
    host.build = [this, fewest_nodes](const std::vector<RuntimeValue>& inputs,
                                      std::shared_ptr<KernelSource> kernels) {
      PlanOptions how;
      how.packs = packs_;
      if (kernels) how.kernels = std::make_shared<HinderedSource>(kernels, hindered, fewest_nodes);
      ir::ValueFact fact;
      fact.type = inputs[0].tensor.type();
      fact.dims = ir::to_dims(inputs[0].tensor.shape());
      return build_plan(session_->model().graph, session_->model().graph->inputs, {fact}, how);
    };
    OptimizerSettings settings;
    settings.idle = false;
    settings.lower = std::move(lower);
    optimizer_ = std::make_unique<Optimizer>(host, settings);
    plans_.publish(shapes(), host.build(inputs_, optimizer_->library()));
  }

  void run() {
    using Clock = std::chrono::steady_clock;
    std::vector<RuntimeValue> outputs(1);
    const PlanTable::Pinned pinned = plans_.find(inputs_, [] { return std::shared_ptr<const Plan>(); });
    const Clock::time_point start = Clock::now();
    pinned.plan->run(inputs_, outputs, {*pool_});
    optimizer_->ran(*pinned.plan, inputs_,
                    std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::vector<ir::Shape> shapes() const { return {inputs_[0].tensor.shape()}; }
  std::shared_ptr<const Plan> plan() { return plans_.current(shapes()); }
  bool says(const std::string& what) {
    for (const PlanSwap& swap : optimizer_->status().swaps) {
      if (swap.what.starts_with(what)) return true;
    }
    return false;
  }
  Optimizer& optimizer() { return *optimizer_; }

  std::atomic<bool> hindered{false};

 private:
  static std::unique_ptr<Session> make_session(const ModelMaker& model) {
    SessionOptions options;
    options.threads = 1;
    options.tier = Tier::fallback;
    return model.session(options);
  }
  std::unique_ptr<Session> session_;
  std::unique_ptr<ThreadPool> pool_ = ThreadPool::make(1);
  std::shared_ptr<PackCache> packs_ = std::make_shared<PackCache>();
  PlanTable plans_{4};
  std::vector<RuntimeValue> inputs_ = {RuntimeValue(ModelMaker::random({128, 64}, 3))};
  std::unique_ptr<Optimizer> optimizer_;
};

bool comes_true(const std::function<bool()>& condition) {
  for (int k = 0; k < 12000 && !condition(); ++k) std::this_thread::sleep_for(milliseconds(10));
  return condition();
}

TEST(Undo, WhatIsSlowerInTheModelIsNotPutInForce) {
  const Knobs knobs{};
  Bench bench;
  bench.hindered = true;
  const auto before = bench.plan();
  for (int k = 0; k < 2; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  EXPECT_TRUE(bench.says("not swapped"));
  EXPECT_EQ(generated_steps(*bench.plan()), 0);
  // It is not tried again and again.
  const size_t swaps = bench.optimizer().status().swaps.size();
  for (int k = 0; k < 200; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  EXPECT_EQ(bench.optimizer().status().swaps.size(), swaps);
}

TEST(Undo, WhatMakesRealRunsSlowerIsTakenBack) {
  const Knobs knobs{};
  Bench bench;
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  ASSERT_TRUE(bench.says("swap")) << "the generated kernel is no faster";
  ASSERT_GT(generated_steps(*bench.plan()), 0);
  bench.hindered = true;
  for (int k = 0; k < 40; ++k) bench.run();
  EXPECT_TRUE(comes_true([&] { return bench.says("undo"); }));
  EXPECT_EQ(generated_steps(*bench.plan()), 0);
}

TEST(Undo, StepsThatWereJoinedComeApartAgain) {
  const Knobs knobs{};
  Bench bench(two_steps(), 2);
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  ASSERT_EQ(bench.plan()->steps().size(), 1u) << "the joint kernel is no faster";
  bench.hindered = true;
  for (int k = 0; k < 40; ++k) bench.run();
  EXPECT_TRUE(comes_true([&] { return bench.says("undo"); }));
  EXPECT_EQ(bench.plan()->steps().size(), 2u);
  // It is blamed, and its shares of the time are its parts' again.
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  EXPECT_EQ(bench.plan()->steps().size(), 2u);
  int steps = 0;
  double shares = 0;
  for (const OptimizedKernel& kernel : bench.optimizer().status().kernels) {
    steps += kernel.steps;
    shares += kernel.share;
    EXPECT_TRUE(kernel.steps == 0 || kernel.ops.find('+') == std::string::npos) << kernel.ops;
  }
  EXPECT_EQ(steps, 2);
  EXPECT_NEAR(shares, 1, 1e-6);
}

/// A schedule for the same work, one element at a time, through a chain that the processor cannot shorten.
search::Lowered one_by_one(const ir::Program& expression, const search::Sizes& sizes,
                           const std::vector<bool>& constant, const jit::Target& target, size_t rank) {
  search::Lowered lowered = search::lower(expression, sizes, constant, target, rank);
  if (!lowered.program) return lowered;
  const auto unhurried = [](auto&& self, ir::loop::Block& block) -> void {
    for (ir::loop::Statement& statement : block) {
      if (auto* loop = std::get_if<ir::loop::Loop>(&statement)) {
        if (loop->kind == ir::loop::LoopKind::vector) loop->kind = ir::loop::LoopKind::sequential;
        self(self, loop->body);
      }
    }
  };
  unhurried(unhurried, lowered.program->body);
  return lowered;
}

TEST(Undo, AKernelThatIsSlowerByItselfIsNotUsed) {
  const Knobs knobs{};
  Bench bench(one_by_one);
  for (int k = 0; k < 2; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  const OptimizerStatus status = bench.optimizer().status();
  ASSERT_EQ(status.kernels.size(), 1u);
  EXPECT_TRUE(status.kernels[0].proof.starts_with("proved")) << status.kernels[0].reason;
  // Whatever the measurement says decides; that it is slow is not taken for granted.
  const bool faster = status.kernels[0].state == OptimizedKernel::State::accepted;
  EXPECT_EQ(generated_steps(*bench.plan()) > 0, faster);
  if (!faster) {
    EXPECT_EQ(status.kernels[0].state, OptimizedKernel::State::slower) << status.kernels[0].reason;
  }
}

TEST(Undo, WhereTheKernelForARangeIsSlowOneForTheVerySizesIsTried) {
  const Knobs knobs{};
  const LowerFunction slow_ranges = [](const ir::Program& expression, const search::Sizes& sizes,
                                       const std::vector<bool>& constant, const jit::Target& target,
                                       size_t rank) {
    const bool open = sizes[0].low != sizes[0].high;
    return open ? one_by_one(expression, sizes, constant, target, rank)
                : search::lower(expression, sizes, constant, target, rank);
  };
  Bench bench(slow_ranges, ir::Dim::symbol("rows"));
  for (int k = 0; k < 40; ++k) bench.run();
  ASSERT_TRUE(bench.optimizer().wait(patience));
  const OptimizerStatus status = bench.optimizer().status();
  // Under sanitizers even the slow schedule may beat the fallback: then there is nothing more to try.
  const bool range_is_slow = status.kernels[0].state == OptimizedKernel::State::slower;
  ASSERT_EQ(status.kernels.size(), range_is_slow ? 2u : 1u) << status.kernels[0].reason;
  if (!range_is_slow) return;
  const OptimizedKernel& special = status.kernels[1];
  EXPECT_EQ(special.sizes, "n0: 128..128");
  EXPECT_TRUE(special.proof.starts_with("proved")) << special.reason;
  const bool faster = special.state == OptimizedKernel::State::accepted;
  EXPECT_EQ(generated_steps(*bench.plan()) > 0, faster);
  EXPECT_EQ(special.steps, faster ? 1 : 0);
}

}  // namespace
}  // namespace axrun::tests
