#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "verify/dim_terms.h"
#include "verify/merged_dims.h"
#include "verify/symbolic_value.h"

namespace axrun::verify {

/// What a tensor expression means, as values over its operands: map stages are unfolded into their readers,
/// states of scans are values of a recurrence.
class ExpressionValues {
 public:
  ExpressionValues(const ir::Program& expression, const Names& sizes, Terms& terms);
  /// Inputs are numbered by the operand's position, not among those that are there. merged: how their
  /// elements are addressed in what is unfolded; what is absent, by its own dims.
  ExpressionValues(const ir::Program& expression, const Names& sizes, Terms& terms,
                   std::map<ir::TensorId, MergedDims> merged);

  /// An element of a tensor; the coordinates are within its dims.
  Symbolic* element(ir::TensorId tensor, const TermList& coordinates);

 private:
  /// An element of an operand of a step.
  using Operand = std::function<Symbolic*(const TermList&)>;
  ExpressionValues(const ir::Program& step, const Names& sizes, Terms& terms, Term time,
                   const std::vector<Operand>& operands);

  class Evaluated;
  class Element;
  class State;
  class StateValue;
  struct Place {
    int stage;
    TermList axes;  ///< axes, then reduce axes
  };
  Symbolic* keep(std::unique_ptr<Symbolic> made);
  Symbolic* value(ir::ExprId id, const Place& at);
  std::optional<Term> index(ir::ExprId id, const Place& at);
  std::optional<Term> lookup(ir::ExprId id, const ir::Dim& extent, const Place& at);
  TermList axes_of(const ir::Stage& stage, const TermList& coordinates);
  Symbolic* of_scan(int stage, size_t result, const TermList& coordinates);
  /// A state of a scan before the step of a time: the time and coordinates.
  Symbolic* state(int stage, size_t number, const TermList& at);
  ExpressionValues& step(int stage, Term time);

  const ir::Program& expression_;
  const Names& sizes_;
  Terms& terms_;
  std::map<ir::TensorId, MergedDims> merged_;
  std::vector<int> inputs_;    ///< per tensor: number of the operand, or none
  std::vector<int> producer_;  ///< per tensor: its stage, or none
  std::optional<Term> time_;   ///< in the step of a scan
  std::map<ir::TensorId, Operand> bound_;
  std::map<std::pair<int, Term>, std::unique_ptr<ExpressionValues>> steps_;
  std::map<std::pair<int, size_t>, std::shared_ptr<const Recurrence>> recurrences_;
  std::deque<std::unique_ptr<Symbolic>> kept_;
  std::map<std::tuple<ir::ExprId, int, TermList>, Symbolic*> values_;
  std::map<std::pair<ir::TensorId, TermList>, Symbolic*> elements_;
};

}  // namespace axrun::verify
