#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/form_counts.h"
#include "runtime/plan/plan_form.h"
#include "runtime/value.h"

namespace axrun::runtime {

/// What is known of values by type and shape.
std::vector<ir::ValueFact> facts_of(const std::vector<RuntimeValue>& values);

/// The forms of a graph, made as sizes come that none of them lets through. Those used last are kept.
/// Safe from many threads.
class PlanForms {
 public:
  /// Sizes of 0, of 1 and beyond take forms of their own: four of them make dozens.
  static constexpr size_t most_forms = 32;

  explicit PlanForms(std::shared_ptr<const ir::Graph> graph)
      : graph_(std::move(graph)), live_in_(graph_->inputs), declared_(DeclaredSizes::kept) {}
  /// Of a body, whose live-ins are these.
  PlanForms(std::shared_ptr<const ir::Graph> body, std::vector<ir::ValueId> live_in)
      : graph_(std::move(body)), live_in_(std::move(live_in)), declared_(DeclaredSizes::ignored) {}

  /// The plan of the whole graph for inputs like these: bound from a form, or, where there can be none, made
  /// for these very sizes.
  std::shared_ptr<const Plan> plan(const std::vector<RuntimeValue>& inputs, const PlanOptions& options);
  /// For live-ins like these, which may be constant.
  std::shared_ptr<const Plan> plan(const std::vector<ir::ValueFact>& live_in_facts,
                                   const PlanOptions& options);

  /// What sizes like these are known to keep to (PlanOptions); empty where there is no form for them.
  std::string assumptions(const std::vector<ir::ValueFact>& live_in_facts, const PlanOptions& options);

  FormCounts counts() const;

 private:
  struct Bound {
    std::shared_ptr<const PlanForm> form;
    std::vector<int64_t> numbers;
  };
  /// Null where the form's sizes are at fault.
  std::shared_ptr<const Plan> bind(Bound bound, const PlanOptions& options);
  /// From a form that is there; none: null. Under the lock.
  template <class Inputs>
  Bound known(const Inputs& inputs);
  Bound find(const std::vector<ir::ValueFact>& live_in_facts, const PlanOptions& options);

  std::shared_ptr<const ir::Graph> graph_;
  std::vector<ir::ValueId> live_in_;
  DeclaredSizes declared_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const PlanForm>> forms_;  ///< the one used last is the first
  FormCounts counts_;                                   ///< without the forms themselves
};

/// The forms of bodies, which plans of all sizes share. Safe from many threads.
class BodyForms {
 public:
  /// The plan of a body; from the second time on, bound from a form where there can be one.
  std::shared_ptr<const Plan> plan(const std::shared_ptr<const ir::Graph>& body,
                                   const std::vector<ir::ValueId>& live_in,
                                   const std::vector<ir::ValueFact>& live_in_facts,
                                   const PlanOptions& options);

 private:
  static constexpr size_t most_bodies = 256;

  std::mutex mutex_;
  std::map<std::shared_ptr<const ir::Graph>, std::shared_ptr<PlanForms>> bodies_;
};

}  // namespace axrun::runtime
