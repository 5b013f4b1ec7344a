#pragma once

#include <map>
#include <string>

#include "ir/dim.h"
#include "verify/terms.h"

namespace axrun::verify {

/// What the names in a Dim stand for.
using Names = std::map<std::string, Term>;

/// The value of a Dim as a term. Throws Error(unsupported) for a name that stands for nothing, and as Terms
/// does.
Term term_of(Terms& terms, const ir::Dim& dim, const Names& names);
TermList terms_of(Terms& terms, const ir::Dims& dims, const Names& names);

}  // namespace axrun::verify
