#pragma once

#include <optional>

#include "ir/program.h"
#include "verify/terms.h"

namespace axrun::verify {

/// An operation on i64 or boolean values as a term, where terms can express it exactly; the arguments are
/// terms of the type `of`. Wrapping cannot occur: terms stay within 62 bits.
std::optional<Term> index_operation(Terms& terms, ir::ScalarOp op, ir::ElementType of, const TermList& args);

}  // namespace axrun::verify
