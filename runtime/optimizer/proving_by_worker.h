#pragma once

#include "search/algebra/rule.h"

namespace axrun::runtime {

class WorkerProcess;
class StopSignal;
struct CandidateTools;

/// Has the worker prove identities: this process has no prover. A worker that fails gives no answer.
/// proof_seconds: of one proof, by the clock; an identity has three.
search::algebra::Prover prover_by(WorkerProcess& worker, const CandidateTools& tools, const StopSignal& stop,
                                  double proof_seconds = 2);

}  // namespace axrun::runtime
