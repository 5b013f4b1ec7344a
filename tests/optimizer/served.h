#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/optimizer/optimizer.h"
#include "runtime/plan/plan_builder.h"
#include "runtime/session.h"
#include "tests/optimizer/answers.h"
#include "tests/runtime/models.h"

namespace axrun::tests {

/// A model that is served with an optimiser of one's own settings behind it.
class Served {
 public:
  Served(const ModelMaker& model, Values inputs, const runtime::OptimizerSettings& settings)
      : inputs_(std::move(inputs)), session_(model.session(one_thread(runtime::Tier::fallback))) {
    using namespace runtime;
    OptimizerHost host;
    host.graph = session_->model().graph;
    host.plans = &plans_;
    host.build = [this, graph = host.graph](const Values& values, std::shared_ptr<KernelSource> kernels) {
      PlanOptions how;
      how.packs = packs_;
      how.kernels = std::move(kernels);
      ir::ValueFact fact;
      fact.type = values[0].tensor.type();
      fact.dims = ir::to_dims(values[0].tensor.shape());
      return build_plan(graph, graph->inputs, {fact}, how);
    };
    optimizer_ = std::make_unique<Optimizer>(host, settings);
    plans_.publish(shapes_of(inputs_), host.build(inputs_, optimizer_->library()));
  }

  /// Runs, and waits for the optimiser; false where that takes too long.
  bool is_given_time() {
    for (int k = 0; k < 3; ++k) {
      run();
      if (!optimizer_->wait(patience)) return false;
    }
    return true;
  }
  /// The answers of the plan in force.
  Values run() {
    Values answers(session_->model().graph->outputs.size());
    const auto pinned = plans_.find(inputs_, [] { return std::shared_ptr<const runtime::Plan>(); });
    pinned.plan->run(inputs_, answers, {*pool_});
    optimizer_->ran(*pinned.plan, inputs_, 1);
    return answers;
  }
  std::shared_ptr<const runtime::Plan> plan() { return plans_.current(shapes_of(inputs_)); }
  runtime::OptimizerStatus status() { return optimizer_->status(); }

 private:
  const Values inputs_;
  const std::unique_ptr<runtime::Session> session_;
  const std::unique_ptr<runtime::ThreadPool> pool_ = runtime::ThreadPool::make(1);
  const std::shared_ptr<runtime::PackCache> packs_ = std::make_shared<runtime::PackCache>();
  runtime::PlanTable plans_{4};
  std::unique_ptr<runtime::Optimizer> optimizer_;
};

}  // namespace axrun::tests
