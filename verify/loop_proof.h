#pragma once

#include "ir/loop/loop_program.h"
#include "ir/program.h"
#include "verify/evidence.h"

namespace axrun::verify {

class Answers;

struct ProofOptions {
  unsigned solver_milliseconds = 2000;  ///< per question put to Z3, as it counts resources
  /// For the whole proof, by the clock: proofs end by the count of resources long before, on a slow and busy
  /// machine as well.
  double seconds = 120;
  double counterexample_seconds = 2;  ///< for the search after a proof that does not go through
  Answers* answers = nullptr;  ///< shared with other proofs, of any program (verify/answers.h); may be null
};

/// Whether a loop program computes a tensor expression, over the reals, for all sizes that it claims: every
/// output element is computed exactly once from the right operands, reduced over exactly its domain, every
/// access is in bounds, no integer is divided by 0, nothing is read before it is written, no two iterations
/// of a parallel loop touch an element of which one writes, and the lanes of vector loops do not depend on
/// each other (except that several may combine into one element).
///
/// The input buffers stand for the expression's operands that are not none, in order; the output buffers for
/// its outputs, in order. Refuted carries sizes (and where possible an element) at which the interpreter of
/// loop programs and that of expressions have been *run* and differ, or the interpreter reported a mistake.
Evidence prove(const ir::loop::LoopProgram& program, const ir::Program& expression,
               const ProofOptions& options = {});

}  // namespace axrun::verify
