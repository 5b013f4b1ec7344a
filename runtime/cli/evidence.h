#pragma once

#include <string>
#include <vector>

#include "runtime/session.h"

namespace axrun::cli {

/// Part of a run's time that is spent in kernels of one kind of evidence.
struct EvidenceShare {
  std::string evidence;  ///< runtime::StepProfile::proof, or `no_evidence`
  double share = 0;
};

/// Precompiled kernels, control flow and the interpreter: right as far as this project's tests go.
inline constexpr const char* no_evidence = "fallback";

/// Shares that sum to 1, `no_evidence` last and always there; empty where no step took any time.
std::vector<EvidenceShare> evidence_shares(const std::vector<runtime::StepProfile>& steps);

/// The same of what runs now, by a few runs.
std::vector<EvidenceShare> present_evidence(runtime::Session& session,
                                            const std::vector<runtime::RuntimeValue>& inputs);

/// "93% loops proved, code tested; 7% fallback".
std::string evidence_text(const std::vector<EvidenceShare>& shares);

}  // namespace axrun::cli
