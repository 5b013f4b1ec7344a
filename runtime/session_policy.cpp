#include "runtime/session_policy.h"

#include "runtime/knobs.h"

namespace axrun::runtime {

std::string why_no_optimizer(const SessionOptions& options) {
  if (options.tier != Tier::automatic) return "only the automatic tier is optimised";
  if (!options.optimize) return "the session's options turn it off";
  return knob_says(KnobName::optimize, "0") ? "AXRUN_OPTIMIZE=0" : "";
}

std::string why_no_cache(const SessionOptions& options) {
  if (!options.use_cache) return "the session's options turn it off";
  if (knob_says(KnobName::cache, "off") && options.cache_dir.empty()) return "AXRUN_CACHE=off";
  const char* const swap = knob_value(KnobName::swap);
  const bool tested = swap != nullptr && !knob_says(KnobName::swap, "faster");
  return tested || knob_value(KnobName::ablate) != nullptr ? "AXRUN_SWAP and AXRUN_ABLATE are for tests" : "";
}

}  // namespace axrun::runtime
