#include "search/algebra/rule.h"
#include "verify/tensor_equality.h"

namespace axrun::search::algebra {

Prover prover_here(double seconds, unsigned milliseconds) {
  verify::ProofOptions options;
  options.seconds = seconds;
  options.solver_milliseconds = milliseconds;
  options.counterexample_seconds = 0;
  return [options](const Sides& both, const std::vector<ir::loop::Size>& sizes) {
    IdentityEvidence found;
    found.equality = verify::prove_equal(both.left, both.right, sizes, options);
    if (found.equality.verdict == verify::Verdict::proved) {
      found.safety = verify::prove_safe(both.left, both.right, sizes, {}, options);
      found.safety_back = verify::prove_safe(both.right, both.left, sizes, {}, options);
    }
    return found;
  };
}

}  // namespace axrun::search::algebra
