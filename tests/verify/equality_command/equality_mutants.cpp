// equality_mutants [MUTANTS [SEED [NAME]]]: the prover of equal tensor expressions against identities, which
// it must not refute, wrong ones, and mutants of the identities' right sides, of which it must prove none
// that differ. NAME: only identities whose names contain it, with what was found. Prints counts and times;
// exit 1 otherwise.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/verify/identities.h"
#include "tests/verify/identity_mutants.h"
#include "tests/verify/operator_terms.h"
#include "verify/tensor_equality.h"

namespace {

using namespace axrun;
using namespace axrun::tests;
using verify::Verdict;

void print_times(const char* what, std::vector<double> seconds) {
  if (seconds.empty()) return;
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double share) {
    return seconds[static_cast<size_t>(share * static_cast<double>(seconds.size() - 1))] * 1000;
  };
  std::printf("%s: %zu, p50 %.1f ms, p95 %.1f ms, max %.1f ms\n", what, seconds.size(), at(0.5), at(0.95),
              at(1));
}

}  // namespace

int main(int argc, char** argv) {
  const int mutants = argc > 1 ? std::atoi(argv[1]) : 1000;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const std::string only = argc > 3 ? argv[3] : "";
  int failures = 0;
  verify::ProofOptions options;
  struct Table {
    const char* name;
    std::vector<Identity> identities;
    bool equal;
  };
  const Table tables[] = {{"identities", true_identities(), true},
                          {"hard identities", hard_identities(), true},
                          {"more hard identities", more_hard_identities(), true},
                          {"identities of bits", bit_identities(), true},
                          {"wrong identities", false_identities(), false},
                          {"wrong identities of bits", false_bit_identities(), false}};
  for (const auto& [table, identities, equal] : tables) {
    std::map<Verdict, int> counts;
    std::vector<double> seconds;
    for (const Identity& identity : identities) {
      if (identity.name.find(only) == std::string::npos) continue;
      try {
        const Inputs inputs = parse_inputs(identity.inputs);
        const auto evidence =
            verify::prove_equal(program_of(inputs, parse_terms(identity.left)),
                                program_of(inputs, parse_terms(identity.right)), sizes_of(inputs), options);
        ++counts[evidence.verdict];
        seconds.push_back(evidence.seconds);
        const bool wrong = equal ? evidence.verdict == Verdict::refuted : evidence.verdict == Verdict::proved;
        failures += wrong ? 1 : 0;
        const bool right = evidence.verdict == (equal ? Verdict::proved : Verdict::refuted);
        if (wrong || !right || !only.empty())
          std::printf("%s%s: %s (%s), %.0f ms: %s\n", wrong ? "WRONG " : "",
                      equal ? "identity" : "no identity", identity.name.c_str(),
                      std::string(verify::name_of(evidence.verdict)).c_str(), evidence.seconds * 1000,
                      evidence.text.c_str());
      } catch (const std::exception& error) {
        ++failures;
        std::printf("BROKEN %s: %s\n", identity.name.c_str(), error.what());
      }
    }
    std::printf("%s: %d proved, %d unknown, %d refuted\n", table, counts[Verdict::proved],
                counts[Verdict::unknown], counts[Verdict::refuted]);
    print_times(equal ? "  proofs" : "  refutations", seconds);
  }
  if (mutants > 0) {
    size_t told = 0;
    MutantTrial trial = try_identity_mutants(mutants, seed, only, [&](const MutantTrial& so_far) {
      if (!so_far.accepted.empty() && so_far.accepted.size() != told) {
        told = so_far.accepted.size();
        std::fprintf(stderr, "ACCEPTED %s\n", so_far.accepted.back().c_str());
      }
      if (so_far.wrong % 100 != 0) return;
      std::fprintf(stderr, "%d of %d mutants: %zu accepted, %d survive 100 random tests, %d proofs ended\n",
                   so_far.wrong, mutants, so_far.accepted.size(), so_far.survivors, so_far.ended);
    });
    std::printf("mutants: %d wrong, each shown by an execution; accepted %zu; %d survive 100 random tests\n",
                trial.wrong, trial.accepted.size(), trial.survivors);
    std::printf("  of which no execution shows anything: %d proved, %d not\n", trial.equal_proved,
                trial.equal_unknown);
    std::printf("  %-24s %6s %9s %7s\n", "kind", "wrong", "survivors", "unsafe");
    for (const auto& [kind, counts] : trial.by_kind)
      std::printf("  %-24s %6d %9d %7d\n", kind.c_str(), counts.wrong, counts.survivors, counts.unsafe);
    print_times("  proofs", trial.seconds);
    std::printf("  proofs that outlasted their limits and were ended: %d\n", trial.ended);
    for (const std::string& accepted : trial.accepted) std::printf("ACCEPTED %s\n", accepted.c_str());
    failures += static_cast<int>(trial.accepted.size());
  }
  return failures == 0 ? 0 : 1;
}
