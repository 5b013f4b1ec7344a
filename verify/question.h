#pragma once

#include <optional>
#include <string>
#include <vector>

#include "verify/terms.h"

namespace axrun::verify {

/// Facts that can be true together where these can. Equations that tell the value of a variable are gone, and
/// the variable with them.
TermList without_equations(Terms& terms, const TermList& facts);

/// What the facts mention; nothing where they mention a function of which the solver knows little.
std::optional<TermList> variables_of(const Terms& terms, const TermList& facts);

/// The facts in groups that mention no variable, and no function of which the solver knows little, in common:
/// all facts can be true together where those of each group can. The last fact is in the first group.
std::vector<TermList> independent_parts(const Terms& terms, const TermList& facts);

/// The facts as text in which variables are numbered in the order in which they come. Lists with one text
/// have one answer: they differ in names only.
std::string question_text(const Terms& terms, const TermList& facts);

}  // namespace axrun::verify
