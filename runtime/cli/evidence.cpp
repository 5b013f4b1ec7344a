#include "runtime/cli/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace axrun::cli {

using runtime::StepProfile;

namespace {

/// One run that takes as long says enough.
constexpr double enough_s = 0.1;
/// Of shorter ones there are several, and many of very short ones: what interrupts them counts little.
constexpr int fewest_runs = 5, most_runs = 1000;
constexpr double together_s = 0.02;

}  // namespace

std::vector<EvidenceShare> evidence_shares(const std::vector<StepProfile>& steps) {
  std::map<std::string, double> us;
  double total = 0, without = 0;
  for (const StepProfile& step : steps) {
    total += step.own_us();
    (step.proof.empty() ? without : us[step.proof]) += step.own_us();
  }
  std::vector<EvidenceShare> shares;
  if (total <= 0) return shares;
  for (const auto& [evidence, time] : us) shares.push_back({evidence, time / total});
  shares.push_back({no_evidence, without / total});
  return shares;
}

std::vector<EvidenceShare> present_evidence(runtime::Session& session,
                                            const std::vector<runtime::RuntimeValue>& inputs) {
  // The first run may build the plans of bodies.
  const auto begin = std::chrono::steady_clock::now();
  std::vector<StepProfile> steps = session.profile_runs(inputs, 1);
  const std::chrono::duration<double> once = std::chrono::steady_clock::now() - begin;
  if (once.count() < enough_s) {
    const double wanted = together_s / std::max(once.count(), 1e-6);
    steps = session.profile_runs(inputs, std::clamp(static_cast<int>(wanted), fewest_runs, most_runs));
  }
  return evidence_shares(steps);
}

std::string evidence_text(const std::vector<EvidenceShare>& shares) {
  std::string text;
  for (const EvidenceShare& one : shares)
    text += fmt::format("{}{:.0f}% {}", text.empty() ? "" : "; ", 100 * one.share, one.evidence);
  return text;
}

}  // namespace axrun::cli
