#pragma once

#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/program.h"
#include "verify/loop_proof.h"

namespace axrun::verify {

/// Whether two expressions mean the same over the reals for all sizes in the claimed ranges: from the same
/// operands in memory the same outputs in memory. The second one's operands and outputs may have other dims
/// than the first one's, adjacent ones merged and those of 1 left out; operands that it does not need may be
/// none.
///
/// Proved or unknown; no counterexample is looked for.
Evidence prove_rewrite(const ir::Program& original, const ir::Program& rewritten,
                       const std::vector<ir::loop::Size>& sizes, const ProofOptions& options = {});

}  // namespace axrun::verify
