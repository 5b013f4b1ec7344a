#pragma once

#include <map>

#include "search/algebra/terms.h"

namespace axrun::search::algebra {

/// An operation that its definition says to be affine in one of its arguments, taken apart: x * factor +
/// offset, both made of the other arguments by elementwise operations, as the definition makes them.
struct AffineForm {
  TermId argument = no_term, factor = no_term, offset = no_term;
  TermId scaled = no_term;  ///< the argument times the factor
  TermId whole = no_term;
};

/// no_term everywhere where the definition is no such thing, or a single step of arithmetic already. What is
/// said is read off the expression, and believed by nobody: equality is for the prover.
AffineForm affine_form(Terms& terms, TermId id);

/// The model with all such operations taken apart; besides, each of factor and offset applied by itself.
/// Empty where there are none.
struct TakenApart {
  Terms terms;
  std::map<TermId, TermId> origins;  ///< of terms that the model has in this form: which they are there
};
TakenApart taken_apart(const Terms& model);

}  // namespace axrun::search::algebra
