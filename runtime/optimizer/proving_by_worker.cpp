#include "runtime/optimizer/proving_by_worker.h"

#include "ir/text.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/worker_process.h"

namespace axrun::runtime {
search::algebra::Prover prover_by(WorkerProcess& worker, const CandidateTools& tools, const StopSignal& stop,
                                  double proof_seconds) {
  return [&worker, &tools, &stop, proof_seconds](
             const search::algebra::Sides& sides,
             const std::vector<ir::loop::Size>& sizes) -> std::optional<search::algebra::IdentityEvidence> {
    WorkerRequest request;
    request.expression = ir::print(sides.left);
    request.lowered = ir::print(sides.right);
    request.identity = sizes;
    request.target = tools.target;
    request.solver_milliseconds = milliseconds_of_identity;
    request.proof_seconds = proof_seconds;
    const WorkerAnswer answer = worker.ask(request, 10 * proof_seconds, stop);
    if (answer.failure == WorkerFailure::none)
      return search::algebra::IdentityEvidence{answer.reply.proof, answer.reply.safety,
                                               answer.reply.safety_back};
    // It may be the identity's fault that the worker is gone.
    if (answer.failure == WorkerFailure::crashed || answer.failure == WorkerFailure::timed_out)
      return search::algebra::IdentityEvidence{{verify::Verdict::unknown, answer.reason, 0}, {}, {}};
    return std::nullopt;
  };
}

}  // namespace axrun::runtime
