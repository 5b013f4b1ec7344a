#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/optimizer/jit_kernel.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/runtime/models.h"

namespace axrun::tests {

using namespace runtime;

/// A generated kernel with something in its way.
class HinderedKernel final : public JitKernel {
 public:
  HinderedKernel(const JitKernel& kernel, const std::atomic<bool>& hindered)
      : JitKernel(kernel), hindered_(hindered) {}
  void run(const KernelCall& call) const override {
    JitKernel::run(call);
    // Busy all the while: what a thread does not use of a processor is not counted.
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(2000);
    while (hindered_ && std::chrono::steady_clock::now() < end) {
    }
  }

 private:
  const std::atomic<bool>& hindered_;
};

/// The library's kernels, as they turn out in plans.
class HinderedSource final : public KernelSource {
 public:
  HinderedSource(std::shared_ptr<KernelSource> source, const std::atomic<bool>& hindered, size_t fewest_nodes,
                 std::string kind)
      : source_(std::move(source)),
        hindered_(hindered),
        fewest_nodes_(fewest_nodes),
        kind_(std::move(kind)) {}
  Found find(const ir::Graph& graph, const std::vector<int>& nodes, const StepContext& context) override {
    Found found = source_->find(graph, nodes, context);
    const auto* jit = dynamic_cast<const JitKernel*>(found.kernel.get());
    if (jit != nullptr && nodes.size() >= fewest_nodes_ && jit->describe().find(kind_) != std::string::npos) {
      found.kernel = std::make_shared<HinderedKernel>(*jit, hindered_);
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
  std::string kind_;
};

/// y = x * w + b over [128, 64], which the generated kernel computes faster than the precompiled one.
inline ModelMaker broadcast_model(const ir::Dim& rows) {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {rows, 64});
  ir::ValueId a = m.node("Mul", {x, m.weights({64}, 1)});
  a = m.node("Add", {a, rows.is_constant() ? m.weights({128, 1}, 2) : m.weights({64}, 2)});
  m.output(a);
  return m;
}

/// Two steps over [128, 64], the second of which reads every row of the first.
inline ModelMaker two_steps() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {128, 64});
  const ir::ValueId a = m.node("Abs", {x});
  m.output(m.node("Softmax", {a}, {{"axis", ModelMaker::attribute(int64_t{-1})}}));
  return m;
}

/// Steps of different weight, which have nothing to do with one another but their order.
inline ModelMaker four_steps() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {128, 64});
  ir::ValueId a = m.node("Softmax", {x}, {{"axis", ModelMaker::attribute(int64_t{-1})}});
  a = m.node("MatMul", {a, m.weights({64, 64}, 1)});
  a = m.node("Trilu", {a}, {{"upper", ModelMaker::attribute(int64_t{0})}});
  m.output(m.node("MatMul", {a, m.weights({64, 32}, 2)}));
  return m;
}

/// What the fallback leaves to the definition's interpreter: any schedule is faster.
inline ModelMaker slow_at_first() {
  ModelMaker m;
  const ir::ValueId x = m.input("x", ir::ElementType::f32, {128, 64});
  m.output(m.node("Trilu", {x}, {{"upper", ModelMaker::attribute(int64_t{0})}}));
  return m;
}

/// A session's parts, with a plan table of its own and an optimiser on it.
class Bench {
 public:
  explicit Bench(LowerFunction lower = {}, const ir::Dim& rows = 128)
      : Bench(broadcast_model(rows), 1, std::move(lower)) {}
  /// Kernels of fewer nodes, and whose kind has not this in it, are never hindered.
  Bench(const ModelMaker& model, size_t fewest_nodes, LowerFunction lower = {}, const std::string& kind = "",
        const std::function<void(OptimizerSettings&)>& change = {})
      : session_(make_session(model)) {
    OptimizerHost host;
    host.graph = session_->model().graph;
    host.plans = &plans_;
    host.build = [this, fewest_nodes, kind](const std::vector<RuntimeValue>& inputs,
                                            std::shared_ptr<KernelSource> kernels) {
      PlanOptions how;
      how.packs = packs_;
      if (kernels) how.kernels = std::make_shared<HinderedSource>(kernels, hindered, fewest_nodes, kind);
      ir::ValueFact fact;
      fact.type = inputs[0].tensor.type();
      fact.dims = ir::to_dims(inputs[0].tensor.shape());
      return build_plan(session_->model().graph, session_->model().graph->inputs, {fact}, how);
    };
    OptimizerSettings settings;
    settings.standing = Standing::ordinary;
    settings.lower = std::move(lower);
    if (change) change(settings);
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

inline bool comes_true(const std::function<bool()>& condition) {
  for (int k = 0; k < 12000 && !condition(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

/// A schedule for the same work, one element at a time, through a chain that the processor cannot shorten.
inline search::Lowered one_by_one(const ir::Program& expression, const search::Sizes& sizes,
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

}  // namespace axrun::tests
