#pragma once

#include <limits>
#include <vector>

#include "ir/loop/loop_program.h"
#include "ir/program.h"
#include "verify/loop_proof.h"

namespace axrun::verify {

/// Whether two tensor expressions are equal for all sizes in the claimed ranges: the rewrite of one as the
/// other.
///
/// Operand k of one is operand k of the other, where both read it, with the same type and equal dims; outputs
/// correspond in order and have the same types and dims (written in any way that is equal for all claimed
/// sizes). f32 and f64 stand for the real numbers; integers wrap at the width of their type; narrower floats,
/// which round at every cast, are functions about which nothing is known but that equal arguments have equal
/// results. Inputs are finite. Infinities in the expressions may mask; they cancel nothing.
///
/// Proved: wherever one side is defined over the reals (no divisor is 0, no root or logarithm of what has
/// none) so
///   is the other, and there they are equal; all reads of both are in bounds.
/// Refuted: the text has sizes, and an element, at which the reference interpreter was run for both on the
/// same
///   inputs (exact ones: small integers and binary fractions), and the results differ by more than rounding
///   explains; or a shape, a type, or a read out of bounds of one side only.
/// Unknown: the text says which obligation did not go through. Never counts as proved.
///
/// options.solver_milliseconds: per question, counted in Z3's resources; options.seconds: for all, by the
/// clock; counterexample_seconds: for the search after a proof that does not go through (0: none is looked
/// for).
Evidence prove_equal(const ir::Program& left, const ir::Program& right,
                     const std::vector<ir::loop::Size>& sizes, const ProofOptions& options = {});

/// What the elements of an operand may be.
struct InputRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// Whether an expression that is equal over the reals to the original is as safe in f32: no stage of it
/// overflows, divides by what may be 0, takes an exponential, a logarithm or a root of what has no bound, or
/// subtracts what nearly cancels, for any inputs in the ranges, unless the original does so too. So a softmax
/// without its maximum is equal and not safe.
///
/// Asked for the ranges as a whole, and for parts of them (equality::parts_of): an original that may overflow
/// somewhere excuses no overflow of small operands. Within a part, kinds of hazards count, not places: this
/// screens by bounds, it does not follow single inputs. Cancellation: the first-order bound of what is
/// rounded away may not grow by more than re-association explains.
///
/// ranges: by position of the operands; those that are missing or infinite are of any finite value of their
/// type. Proved or unknown, with the stage and the operation at fault. Equality is not this function's
/// business.
Evidence prove_safe(const ir::Program& original, const ir::Program& rewritten,
                    const std::vector<ir::loop::Size>& sizes, const std::vector<InputRange>& ranges,
                    const ProofOptions& options = {});

}  // namespace axrun::verify
