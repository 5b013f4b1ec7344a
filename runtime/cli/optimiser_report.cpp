#include "runtime/cli/optimiser_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/cli/json_text.h"

namespace axrun::cli {

using Json = nlohmann::ordered_json;

namespace {

/// What is computed of constants before the first run, or once beside the runs, and on whose word.
Json load_time_json(const runtime::OptimizerStatus& status) {
  int64_t verified = 0, fallback = 0;
  Json programs = Json::array();
  for (const runtime::LoadProgram& one : status.load_programs) {
    (one.state == runtime::LoadProgram::State::verified ? verified : fallback) += one.bytes;
    programs.push_back({{"what", one.what},
                        {"bytes", one.bytes},
                        {"state", runtime::name_of(one.state)},
                        {"reason", one.reason},
                        {"proof", one.proof},
                        {"gate", one.gate}});
  }
  // Which kernel has packed what is not known: where one is a cache's, on its word.
  const bool on_its_word =
      std::any_of(status.kernels.begin(), status.kernels.end(),
                  [](const runtime::OptimizedKernel& kernel) { return kernel.from_cache; });
  const int64_t kept = on_its_word ? status.prepared_bytes : status.kept_bytes;
  return {{"by_definition",
           {{"nodes", status.folded_by_definition}, {"bytes", status.folded_bytes_by_definition}}},
          {"folded_bytes", {{"loops proved, code tested", verified}, {"fallback", fallback}}},
          {"prepared_bytes",
           {{"loops proved, code tested", status.prepared_bytes - kept},
            {"loops proved, code tested, as this cache says", kept},
            {"fallback", status.packed_bytes}}},
          {"programs", std::move(programs)}};
}

Json layouts_json(const runtime::LayoutReport& report) {
  Json prices = Json::array();
  for (const runtime::LayoutReport::Price& price : report.prices)
    prices.push_back({{"ops", price.ops}, {"plain_us", price.plain}, {"last_us", number(price.last)}});
  return {{"outcome", report.outcome}, {"sites", report.sites},       {"tried", report.tried},
          {"priced", report.priced},   {"faster", report.faster},     {"values", report.values},
          {"gap", report.gap},         {"expected", report.expected}, {"speedup", number(report.speedup)},
          {"seconds", report.seconds}, {"prices", std::move(prices)}};
}

Json bilinear_json(const runtime::BilinearReport& report) {
  Json kinds = Json::array();
  for (const runtime::BilinearReport::Kind& kind : report.kinds)
    kinds.push_back({{"sizes", kind.sizes},
                     {"convolutions", kind.sites},
                     {"tile", kind.tile},
                     {"direct_us", kind.direct},
                     {"by_4x4_us", number(kind.by_four)},
                     {"by_2x2_us", number(kind.by_two)}});
  return {{"outcome", report.outcome},
          {"kinds", std::move(kinds)},
          {"growth", number(report.growth)},
          {"speedup", number(report.speedup)},
          {"seconds", report.seconds}};
}

Json algebra_json(const runtime::AlgebraReport& report) {
  Json windows = Json::array();
  for (const runtime::AlgebraReport::Window& window : report.windows) {
    Json rules = Json::array();
    for (const runtime::AlgebraReport::Rule& rule : window.rules)
      rules.push_back({{"name", rule.name},
                       {"equation", rule.equation},
                       {"direction", rule.forward ? "left to right" : "right to left"},
                       {"equality", rule.equality},
                       {"safety", rule.safety},
                       {"origin", rule.origin}});
    windows.push_back({{"values", window.values},
                       {"rules", std::move(rules)},
                       {"steps", window.steps},
                       {"cost_before", window.before},
                       {"cost_after", window.after}});
  }
  return {{"outcome", report.outcome}, {"trouble", report.trouble},     {"rules", report.rules},
          {"found", report.found},     {"looked_at", report.looked_at}, {"speedup", number(report.speedup)},
          {"seconds", report.seconds}, {"windows", std::move(windows)}};
}

}  // namespace

Json cache_json(const runtime::CacheUse& use) {
  Json refused = Json::object(), not_stored = Json::object();
  for (const auto& [reason, count] : use.refused) refused[reason] = count;
  for (const auto& [reason, count] : use.not_stored) not_stored[reason] = count;
  return {{"folder", use.folder},
          {"reason", use.reason},
          {"writable", use.writable},
          {"found", use.found},
          {"settled", use.settled},
          {"experience", use.experience},
          {"hits", use.hits},
          {"misses", use.misses},
          {"refused", std::move(refused)},
          {"not_stored", std::move(not_stored)},
          {"bytes_read", use.bytes_read},
          {"bytes_written", use.bytes_written}};
}

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
                       {"tested", kernel.tested},
                       {"served", kernel.served},
                       {"proof", kernel.proof},
                       {"gate", kernel.gate},
                       {"proof_s", kernel.proof_seconds},
                       {"gate_s", kernel.gate_seconds},
                       {"compile_s", kernel.compile_seconds},
                       {"speedup", number(kernel.speedup)},
                       {"code_bytes", kernel.code_bytes},
                       {"alternatives", kernel.alternatives},
                       {"alternatives_tried", kernel.alternatives_tried},
                       {"rank", kernel.rank},
                       {"from_cache", kernel.from_cache},
                       {"alternative_speedup", number(kernel.alternative_speedup)}});
  }
  Json evidence = Json::object();
  for (const EvidenceShare& one : optimisation.evidence) evidence[one.evidence] = one.share;
  Json swaps = Json::array();
  for (const runtime::PlanSwap& swap : status.swaps) {
    swaps.push_back({{"s", swap.seconds},
                     {"what", swap.what},
                     {"shapes", swap.shapes},
                     {"generated", swap.generated},
                     {"speedup", number(swap.speedup)},
                     {"tried", swap.tried}});
  }
  Json phases = Json::array();
  for (const runtime::OptimizerPhase& phase : status.phases)
    phases.push_back({{"name", phase.name}, {"s", phase.seconds}, {"processor_s", phase.processor_seconds}});
  return {{"state", runtime::name_of(status.state)},
          {"reason", status.reason},
          {"seconds", optimisation.seconds},
          {"finished", optimisation.finished},
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
          {"load_time", load_time_json(status)},
          {"cache", cache_json(status.cache)},
          {"kernels", std::move(kernels)},
          {"phases", std::move(phases)},
          {"layouts", layouts_json(status.layouts)},
          {"bilinear", bilinear_json(status.bilinear)},
          {"algebra", algebra_json(status.algebra)},
          {"swaps", std::move(swaps)}};
}

std::string optimiser_line(const Optimisation& optimisation) { return line_of(optimiser_json(optimisation)); }

}  // namespace axrun::cli
