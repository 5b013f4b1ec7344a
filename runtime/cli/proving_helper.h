#pragma once

#include "runtime/host_target.h"
#include "runtime/optimizer/candidate.h"
#include "runtime/optimizer/proving_by_worker.h"
#include "runtime/optimizer/worker_process.h"

namespace axrun::cli {

/// The helper process that proves.
struct ProvingHelper {
  ProvingHelper() { tools.target = runtime::host_target(); }
  search::algebra::Prover prover() { return runtime::prover_by(worker, tools, stop); }

  runtime::CandidateTools tools;
  runtime::WorkerProcess worker{runtime::WorkerOptions{}};
  runtime::StopSignal stop;
};

}  // namespace axrun::cli
