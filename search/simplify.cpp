#include "search/simplify.h"

#include "ir/cheaper_scalars.h"
#include "ir/compose.h"
#include "ir/known_scalars.h"
#include "search/inline_maps.h"
#include "search/integer_sums.h"
#include "search/merge_axes.h"
#include "search/narrow_floats.h"
#include "search/ordered_results.h"
#include "search/reciprocals.h"
#include "search/single_steps.h"
#include "search/split_axes.h"
#include "search/turned_operands.h"
#include "search/unit_axes.h"

namespace axrun::search {

using ir::Program;

Program simplify(const Program& expression, const SizeFacts& facts, IntegerSums integers) {
  Program program = ir::without_dead_stages(ir::with_known_sizes(expression, facts.known()));
  program = narrow_floats(program);
  program = use_cheaper_scalars(program);
  program = take_single_steps(program);
  if (integers != IntegerSums::none) program = use_integer_sums(program, integers == IntegerSums::bytes);
  program = drop_unit_axes(program);
  program = merge_axes(program);
  program = inline_maps(program, facts);
  program = merge_axes(program);  // stages that are gone forbid nothing any more
  program = use_reciprocals(program);
  program = split_axes(program);
  program = order_results(program);
  program = turn_operands(program);
  return program;
}

}  // namespace axrun::search
