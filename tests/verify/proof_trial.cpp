#include "tests/verify/proof_trial.h"

#include "ir/error.h"
#include "ir/text.h"
#include "tests/verify/mutants.h"
#include "verify/counterexample.h"
#include "verify/loop_proof.h"

namespace axrun::tests {

using verify::Evidence;
using verify::Verdict;

void try_valid(ProofTrial& trial, const LoopCase& valid) {
  ++trial.valid;
  const std::string what = valid.name + "\n" + valid.expression + "\n" + valid.program + "\n";
  try {
    const ir::loop::LoopProgram program = ir::loop::parse(valid.program);
    const ir::Program expression = ir::parse(valid.expression);
    const Evidence evidence = verify::prove(program, expression);
    trial.valid_seconds.push_back(evidence.seconds);
    if (evidence.verdict != Verdict::proved) {
      trial.refused.push_back(what + std::string(name_of(evidence.verdict)) + ": " + evidence.text);
      return;
    }
    verify::SearchOptions search;
    search.trials = 4;
    if (const auto found = verify::counterexample(program, expression, search))
      trial.accepted.push_back(what + *found);
  } catch (const Error& error) {
    trial.refused.push_back(what + error.what());
  }
}

void try_mutants(ProofTrial& trial, const LoopCase& valid, int count, uint64_t seed) {
  const ir::loop::LoopProgram program = ir::loop::parse(valid.program);
  const ir::Program expression = ir::parse(valid.expression);
  const std::string text = print(program);
  std::mt19937_64 random(seed);
  for (int draws = 20 * count; draws > 0 && count > 0; --draws) {
    auto mutant = mutate(program, random);
    if (mutant && random() % 4 == 0) {  // two mistakes
      if (auto more = mutate(mutant->program, random)) mutant = {mutant->kind, std::move(more->program)};
    }
    if (!mutant || print(mutant->program) == text) continue;
    verify::ProofOptions options;
    options.counterexample_seconds = 0.5;
    const Evidence evidence = verify::prove(mutant->program, expression, options);
    trial.mutant_seconds.push_back(evidence.seconds);
    if (evidence.verdict == Verdict::proved) {
      verify::SearchOptions search;
      search.seed = seed;
      search.trials = 40;
      const auto found = verify::counterexample(mutant->program, expression, search);
      if (found) {
        ++trial.wrong;
        ++trial.wrong_by_kind[mutant->kind];
        trial.accepted.push_back(valid.name + ", " + mutant->kind + "\n" + valid.expression + "\n" +
                                 print(mutant->program) + *found);
        --count;
      } else {
        ++trial.equal;
      }
    } else if (evidence.verdict == Verdict::refuted) {
      ++trial.wrong;
      ++trial.wrong_by_kind[mutant->kind];
      --count;
    } else {
      ++trial.undecided;
      ++trial.undecided_by_reason[mutant->kind + ": " + evidence.text];
    }
  }
}

}  // namespace axrun::tests
