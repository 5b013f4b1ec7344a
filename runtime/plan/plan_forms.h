#pragma once

#include <cstdint>
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

/// The forms of a graph, made as sizes come that none of them lets through. A few are kept: those used last.
/// Safe from many threads.
class PlanForms {
 public:
  static constexpr size_t most_forms = 8;

  explicit PlanForms(std::shared_ptr<const ir::Graph> graph) : graph_(std::move(graph)) {}

  /// The plan of the whole graph for inputs like these: bound from a form, or, where there can be none, made
  /// for these very sizes.
  std::shared_ptr<const Plan> plan(const std::vector<RuntimeValue>& inputs, const PlanOptions& options);

  /// What sizes like these are known to keep to (PlanOptions); empty where there is no form for them.
  std::string assumptions(const std::vector<ir::ValueFact>& live_in_facts, const PlanOptions& options);

  FormCounts counts() const;

 private:
  struct Bound {
    std::shared_ptr<const PlanForm> form;
    std::vector<int64_t> numbers;
  };
  /// From a form that is there; none: null. Under the lock.
  template <class Inputs>
  Bound known(const Inputs& inputs);
  Bound find(const std::vector<ir::ValueFact>& live_in_facts, const PlanOptions& options);

  std::shared_ptr<const ir::Graph> graph_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const PlanForm>> forms_;  ///< the one used last is the first
  FormCounts counts_;                                   ///< without the forms themselves
};

}  // namespace axrun::runtime
