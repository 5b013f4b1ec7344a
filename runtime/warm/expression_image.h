#pragma once

#include "runtime/cache/bytes.h"
#include "runtime/optimizer/step_expression.h"
#include "search/lowering.h"

namespace axrun::runtime {

void write(cache::Writer& out, const StepExpression& expression);
/// Without its program (StepExpression::whole_program makes it of the text when it is wanted). The reader has
/// failed where this can be no expression.
StepExpression read_expression(cache::Reader& in);

void write(cache::Writer& out, const search::Sizes& ranges);
search::Sizes read_ranges(cache::Reader& in);

}  // namespace axrun::runtime
