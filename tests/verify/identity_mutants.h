#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace axrun::tests {

/// What became of mutants of identities (identity_mutations.h), each another text.
struct MutantTrial {
  struct Counts {
    int wrong = 0, survivors = 0, unsafe = 0;
  };
  int wrong = 0;      ///< an execution tells the sides apart, or shows the right one go wrong in f32
  int survivors = 0;  ///< of these: not one of 100 random small inputs at one size does
  int equal_proved = 0, equal_unknown = 0;  ///< of those of which no execution shows anything
  std::vector<std::string> accepted;        ///< wrong, and proved: equal, and safe where that is the mistake
  std::map<std::string, Counts> by_kind;    ///< of wrong ones
  std::vector<double> seconds;              ///< of proofs
  int ended = 0;                            ///< proofs that outlasted their limits: ended, so not accepted
};

/// Until so many are wrong; the same ones for the same seed. Every proof has a process of its own with a hard
/// limit. only: identities whose names contain it; progress: told after each that is wrong.
MutantTrial try_identity_mutants(int wrong, uint64_t seed, const std::string& only,
                                 const std::function<void(const MutantTrial&)>& progress = {});

}  // namespace axrun::tests
