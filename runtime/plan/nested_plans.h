#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "ir/infer.h"
#include "runtime/plan/nested_forms.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/plan_cache.h"

namespace axrun::runtime {

/// The plans of a graph operator's bodies, by the shapes they meet.
class BodyPlans {
 public:
  /// facts: of the enclosing graph, for what the bodies capture; only constants are taken from it.
  BodyPlans(const ir::Node& node, const FactTable& facts, const PlanOptions& options);

  /// Runs the operator. `read` makes its second argument a value of the enclosing graph.
  std::vector<RuntimeValue> run(const std::vector<RuntimeValue>& inputs,
                                const std::function<void(ir::ValueId, RuntimeValue&)>& read,
                                const RunContext& context);

  /// Appends the plans made so far.
  void list(std::vector<NestedPlan>& plans) const;
  /// Of these, and of what is nested in them.
  int open_steps() const;
  /// Makes a plan, and all that is nested in it.
  void prepare(const NestedForm& form) const;

 private:
  struct Body {
    std::shared_ptr<const ir::Graph> graph;
    std::vector<ir::ValueId> live_in;               ///< inputs, then captures
    std::vector<ir::ValueFact> captured_constants;  ///< per capture; undefined where not constant
    std::unique_ptr<PlanCache> plans;
  };
  /// What stays from one run of a body to the next while its operator runs.
  struct Going {
    const Body* body = nullptr;
    std::vector<RuntimeValue> live_in;  ///< the captures are there from the beginning
    std::shared_ptr<const Plan> plan;   ///< for what has the signatures of `live_in`; null: not begun
  };
  /// For one run of the operator: those of earlier runs, so that little is allocated, without their values.
  std::vector<Going> take_goings();
  void give_back(std::vector<Going> goings);
  void run_body(Going& going, const std::vector<RuntimeValue>& inputs, std::vector<RuntimeValue>& outputs,
                const RunContext& context);
  /// For live-ins of these signatures; captured values are constant where the enclosing graph's are.
  std::shared_ptr<const Plan> build(const Body& body, const std::string& key) const;

  const ir::Node& node_;
  PlanOptions options_;
  std::vector<Body> bodies_;
  std::mutex idle_mutex_;
  std::vector<std::vector<Going>> idle_;  ///< that no run uses
};

/// What follows once a run knows the shapes (or small values) a plan had to leave open: plans for the nodes
/// that were deferred, by those shapes and values.
class Continuation {
 public:
  /// `values_needed`: the values whose contents a deferred node's definition asked for.
  Continuation(std::vector<int> nodes, std::vector<ir::ValueId> live_in,
               std::vector<ir::ValueId> values_needed, std::vector<bool> outputs, const PlanOptions& options);

  void run(const Plan& plan, const Frame& frame, std::vector<RuntimeValue>& outputs,
           const RunContext& context);
  const std::vector<ir::ValueId>& live_in() const { return live_in_; }
  /// Plans may be made for the content of such a value alone. Longer ones never decide a shape, nor do
  /// strings: they would make a plan per run.
  static bool may_need_content(ir::ElementType type, const ir::Shape& shape);

  /// Appends the plans made so far.
  void list(std::vector<NestedPlan>& plans) const;
  /// Of these, and of what is nested in them.
  int open_steps() const;
  /// Makes a plan that follows `plan`, and all that is nested in it.
  void prepare(const Plan& plan, const NestedForm& form);

 private:
  /// For live-ins of these signatures, constant where the content matters.
  std::shared_ptr<const Plan> build(const Plan& plan, const std::string& key) const;

  std::vector<int> nodes_;
  std::vector<ir::ValueId> live_in_;
  std::vector<bool> needs_content_;  ///< per live-in
  std::vector<bool> outputs_;        ///< graph outputs that are left to the continuation
  PlanOptions options_;
  PlanCache plans_;
};

}  // namespace axrun::runtime
