#include "verify/gate_trials.h"

#include <algorithm>
#include <iterator>

namespace axrun::verify {
namespace {

struct Kind {
  Distribution distribution;
  int share;
};
constexpr Kind kinds[] = {
    {Distribution::small_integers, 1},
    {Distribution::small_integers, 4},
    {Distribution::uniform, 4},
    {Distribution::wide_exponents, 4},
    {Distribution::mostly_zeros, 4},
    {Distribution::all_positive, 4},
    {Distribution::large, 4},
    {Distribution::uniform, 4},
    {Distribution::nans, 8},
    {Distribution::positive_infinities, 8},
    {Distribution::negative_infinities, 8},
    {Distribution::signed_zeros, 8},
    {Distribution::denormals, 8},
    {Distribution::denormals, 8},
    {Distribution::largest, 8},
    {Distribution::all_specials, 8},
};
static_assert(std::size(kinds) == gate_trial_count);

std::vector<GateTrial> all_trials() {
  std::vector<GateTrial> trials;
  for (const Kind& kind : kinds)
    trials.push_back({static_cast<int>(trials.size()), kind.distribution, kind.share, 1, false});
  for (int k = 0; k < exact_pair_trials; ++k)
    trials.push_back({gate_trial_count + k, Distribution::small_integers, k == 0 ? 1 : 4, 1, true});
  return trials;
}

bool at_large_sizes(const GateTrial& trial) {
  return trial.share == 1 || trial.distribution == Distribution::wide_exponents ||
         trial.distribution == Distribution::all_specials;
}

}  // namespace

std::vector<std::vector<GateTrial>> plan_gate_trials(const std::vector<int64_t>& bytes, int64_t large,
                                                     size_t thorough) {
  constexpr int thinned = 16;
  std::vector<std::vector<GateTrial>> plan;
  const auto wholly = bytes.begin() + static_cast<std::ptrdiff_t>(std::min(thorough, bytes.size()));
  const auto smallest = std::min_element(bytes.begin(), wholly) - bytes.begin();
  int left_out = 0;
  for (size_t s = 0; s < bytes.size(); ++s) {
    plan.push_back(all_trials());
    const bool thin = s >= thorough;
    if ((bytes[s] <= large && !thin) || static_cast<std::ptrdiff_t>(s) == smallest) continue;
    std::erase_if(plan.back(), [](const GateTrial& trial) { return !at_large_sizes(trial); });
    if (!thin) {
      ++left_out;
      continue;
    }
    for (GateTrial& trial : plan.back()) trial.thinned = thinned;
  }
  if (plan.empty()) return plan;
  for (GateTrial& trial : plan[static_cast<size_t>(smallest)]) {
    if (!at_large_sizes(trial)) trial.times += left_out;
  }
  return plan;
}

}  // namespace axrun::verify
