#include "runtime/cli/optimiser_report.h"

#include <nlohmann/json.hpp>

#include "runtime/cli/json_text.h"

namespace axrun::cli {

using Json = nlohmann::ordered_json;

Json optimiser_json(const Optimisation& optimisation) {
  const runtime::OptimizerStatus& status = optimisation.status;
  Json kernels = Json::array();
  for (const runtime::OptimizedKernel& kernel : status.kernels) {
    kernels.push_back({{"ops", kernel.ops},
                       {"schedule", kernel.kind},
                       {"state", runtime::name_of(kernel.state)},
                       {"reason", kernel.reason},
                       {"steps", kernel.steps},
                       {"share", kernel.share},
                       {"sizes", kernel.sizes},
                       {"proof", kernel.proof},
                       {"gate", kernel.gate},
                       {"proof_s", kernel.proof_seconds},
                       {"gate_s", kernel.gate_seconds},
                       {"compile_s", kernel.compile_seconds},
                       {"speedup", number(kernel.speedup)},
                       {"code_bytes", kernel.code_bytes}});
  }
  Json evidence = Json::object();
  for (const EvidenceShare& one : optimisation.evidence) evidence[one.evidence] = one.share;
  Json swaps = Json::array();
  for (const runtime::PlanSwap& swap : status.swaps) {
    swaps.push_back({{"s", swap.seconds},
                     {"what", swap.what},
                     {"shapes", swap.shapes},
                     {"generated", swap.generated},
                     {"speedup", number(swap.speedup)}});
  }
  return {{"state", runtime::name_of(status.state)},
          {"reason", status.reason},
          {"seconds", optimisation.seconds},
          {"runs", optimisation.runs},
          {"start_ms", optimisation.start_ms},
          {"end_ms", optimisation.end_ms},
          {"tried", status.tried},
          {"left", status.left},
          {"steps", status.steps},
          {"swapped", status.swapped},
          {"speedup_in_model", number(status.speedup)},
          {"evidence", std::move(evidence)},
          {"threads", status.threads},
          {"priority", status.priority},
          {"worker_starts", status.worker_starts},
          {"code_bytes", status.code_bytes},
          {"prepared_bytes", status.prepared_bytes},
          {"kernels", std::move(kernels)},
          {"swaps", std::move(swaps)}};
}

std::string optimiser_line(const Optimisation& optimisation) { return line_of(optimiser_json(optimisation)); }

}  // namespace axrun::cli
