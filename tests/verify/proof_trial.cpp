#include "tests/verify/proof_trial.h"

#include "ir/error.h"
#include "ir/text.h"
#include "tests/verify/mutants.h"
#include "verify/answers.h"
#include "verify/counterexample.h"
#include "verify/loop_proof.h"

namespace axrun::tests {

using verify::Evidence;
using verify::Verdict;

ValidLoop parsed(const LoopCase& text) {
  return {text.name, ir::parse(text.expression), ir::loop::parse(text.program)};
}

namespace {

void count_wrong(ProofTrial& trial, const ValidLoop& valid, const std::string& kind) {
  ++trial.wrong;
  ++trial.wrong_by_kind[kind];
  for (const std::string& schedule : valid.schedules) ++trial.by_schedule[schedule].wrong;
}

std::string described(const std::string& name, const ir::Program& expression,
                      const ir::loop::LoopProgram& program) {
  return name + "\n" + print(expression) + print(program);
}

}  // namespace

void try_valid(ProofTrial& trial, const ValidLoop& valid) {
  ++trial.valid;
  for (const std::string& schedule : valid.schedules) ++trial.by_schedule[schedule].valid;
  const std::string what = described(valid.name, valid.expression, valid.program);
  const Evidence evidence = verify::prove(valid.program, valid.expression);
  trial.valid_seconds.push_back(evidence.seconds);
  if (evidence.verdict != Verdict::proved) {
    trial.refused.push_back(what + std::string(name_of(evidence.verdict)) + ": " + evidence.text);
    return;
  }
  verify::SearchOptions search;
  search.trials = 4;
  if (const auto found = verify::counterexample(valid.program, valid.expression, search))
    trial.accepted.push_back(what + *found);
}

void try_mutants(ProofTrial& trial, const ValidLoop& valid, int count, uint64_t seed) {
  const std::string text = print(valid.program);
  std::mt19937_64 random(seed);
  static verify::Answers answers;  // a mutant has nearly all questions of a program that is right
  for (int draws = 6 * count; draws > 0 && count > 0; --draws) {
    auto mutant = mutate(valid.program, random);
    if (mutant && random() % 4 == 0) {  // two mistakes
      if (auto more = mutate(mutant->program, random)) mutant = {mutant->kind, std::move(more->program)};
    }
    if (!mutant || print(mutant->program) == text) continue;
    verify::ProofOptions options;
    options.seconds = 30;  // most wrong ones are told apart at once
    options.counterexample_seconds = trial.search_seconds;
    options.answers = &answers;
    const Evidence evidence = verify::prove(mutant->program, valid.expression, options);
    trial.mutant_seconds.push_back(evidence.seconds);
    if (evidence.verdict == Verdict::proved) {
      verify::SearchOptions search;
      search.seed = seed;
      search.trials = 40;
      const auto found = verify::counterexample(mutant->program, valid.expression, search);
      if (found) {
        count_wrong(trial, valid, mutant->kind);
        const std::string name = valid.name + ", " + mutant->kind;
        trial.accepted.push_back(described(name, valid.expression, mutant->program) + *found);
        --count;
      } else {
        ++trial.equal;
      }
    } else if (evidence.verdict == Verdict::refuted) {
      count_wrong(trial, valid, mutant->kind);
      --count;
    } else {
      ++trial.undecided;
      ++trial.undecided_by_reason[mutant->kind + ": " + evidence.text];
    }
  }
}

}  // namespace axrun::tests
