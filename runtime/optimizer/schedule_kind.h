#pragma once

#include <string>

#include "runtime/optimizer/candidate.h"

namespace axrun::runtime {

/// The kind of an expression's default schedule, or why there is none.
struct ScheduleKind {
  std::string kind;    ///< of its pieces, in order (search::Lowered); empty: there is none
  std::string reason;  ///< then
  CandidateOutcome::End outcome = CandidateOutcome::End::refused;  ///< then: whether anything is known of it
  TriedKernel::End lost = TriedKernel::End::no_schedule;           ///< then
};

/// Asks the worker, which must be at no other work. Empty, with the reason "stopped", when told to stop.
ScheduleKind kind_of_schedule(const StepExpression& expression, const search::Sizes& ranges,
                              const CandidateTools& tools, WorkerProcess& worker, const StopSignal& stop);

}  // namespace axrun::runtime
