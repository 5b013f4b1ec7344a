// loop_mutants [WRONG [VALID [SEED [NAME [SECONDS]]]]]: the prover of loop programs against wrong programs,
// of which it must accept none, and valid ones, of which it must refuse none: programs written by hand, the
// default schedules, and schedules drawn at random; NAME: only those whose names contain it; SECONDS: for a
// counterexample to a program that is not proved (0.5: too few for large ones). Prints counts and times; exit
// 1 otherwise.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include "ir/error.h"
#include "tests/search/cases.h"
#include "tests/search/quantized_cases.h"
#include "tests/verify/proof_trial.h"
#include "tests/verify/schedules.h"

namespace {

void print_times(const char* what, std::vector<double> seconds) {
  if (seconds.empty()) return;
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double share) {
    return seconds[static_cast<size_t>(share * static_cast<double>(seconds.size() - 1))] * 1000;
  };
  std::printf("%s: %zu proofs, p50 %.1f ms, p95 %.1f ms, max %.1f ms\n", what, seconds.size(), at(0.5),
              at(0.95), at(1));
}

/// The names in "contraction+recurrence(rows+map)".
std::set<std::string> names_in(const std::string& kind) {
  std::set<std::string> names;
  std::string name;
  for (const char c : kind + "+") {
    if (c != '+' && c != '(' && c != ')') {
      name += c;
    } else if (!name.empty()) {
      names.insert(std::exchange(name, {}));
    }
  }
  return names;
}

/// The default schedules of all cases of tests/search.
std::vector<axrun::tests::ValidLoop> default_schedules() {
  using namespace axrun::tests;
  std::vector<ValidLoop> made;
  const auto add = [&](const Case& c, const axrun::jit::Target& target) {
    axrun::search::Lowered lowered = lowered_case(c, target);
    if (!lowered.program) return;
    made.push_back({c.name + " for " + target.name, std::move(lowered.expression),
                    std::move(*lowered.program), names_in(lowered.kind)});
  };
  for (const Case& c : all_cases()) {
    for (const axrun::jit::Target& target : {avx512_like(), avx2_like()}) add(c, target);
  }
  for (const Case& c : byte_cases()) add(c, with_byte_products());
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace axrun::tests;
  for (int k = 1; k < std::min(argc, 6); ++k) {
    const std::string text = argv[k];
    if (k == 4) continue;
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) continue;
    std::fprintf(
        stderr,
        "loop_mutants: '%s' is no number\nusage: loop_mutants [WRONG [VALID [SEED [NAME [SECONDS]]]]]\n",
        argv[k]);
    return 1;
  }
  const int wrong = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int valid = argc > 2 ? std::atoi(argv[2]) : 250;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));

  ProofTrial trial;
  if (argc > 5) trial.search_seconds = std::atoi(argv[5]);
  std::vector<ValidLoop> bases = default_schedules();
  const auto add = [&](const LoopCase& text, const char* how) {
    bases.push_back(parsed(text));
    bases.back().schedules = {how};
  };
  for (const LoopCase& by_hand : loop_cases()) add(by_hand, "(by hand)");
  for (int k = 0; k < valid; ++k)
    add(random_schedule(seed * 1000000 + static_cast<uint64_t>(k)), "(at random)");
  const std::string part = argc > 4 ? argv[4] : "";
  std::erase_if(bases, [&](const ValidLoop& base) { return base.name.find(part) == std::string::npos; });
  for (const ValidLoop& base : bases) try_valid(trial, base);
  std::printf("valid programs: %d, refused: %zu\n", trial.valid, trial.refused.size());
  print_times("valid", trial.valid_seconds);
  for (const std::string& refused : trial.refused) std::printf("REFUSED %s\n", refused.c_str());

  // Round by round over all of them.
  for (uint64_t k = 0; trial.wrong < wrong && k < 1000 * bases.size(); ++k)
    try_mutants(trial, bases[k % bases.size()], 2, seed * 7919 + k);
  std::printf("wrong programs: %d, accepted: %zu (besides: %d equal mutants proved, %d undecided)\n",
              trial.wrong, trial.accepted.size(), trial.equal, trial.undecided);
  for (const auto& [kind, count] : trial.wrong_by_kind) std::printf("  %-16s %d\n", kind.c_str(), count);
  std::printf("schedules, valid and wrong programs with a piece of each:\n");
  for (const auto& [schedule, counts] : trial.by_schedule)
    std::printf("  %-16s %5d %6d\n", schedule.c_str(), counts.valid, counts.wrong);
  if (std::getenv("REASONS") != nullptr) {
    for (const auto& [reason, count] : trial.undecided_by_reason)
      std::printf("  %4d undecided, %s\n", count, reason.c_str());
  }
  print_times("mutants", trial.mutant_seconds);
  for (const std::string& accepted : trial.accepted) std::printf("ACCEPTED %s\n", accepted.c_str());
  return trial.refused.empty() && trial.accepted.empty() ? 0 : 1;
}
