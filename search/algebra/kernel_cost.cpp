#include "search/algebra/kernel_cost.h"

#include <algorithm>

#include "ir/operation_count.h"

namespace axrun::search::algebra {
namespace {

double elements(const ir::Dims& dims) {
  double count = 1;
  for (const ir::Dim& dim : dims) count *= static_cast<double>(dim.constant().value_or(64));
  return count;
}

/// Every element of the result depends on one of each operand, at most.
bool is_elementwise(const ir::Program& program) {
  return std::all_of(program.stages.begin(), program.stages.end(),
                     [](const ir::Stage& stage) { return stage.kind == ir::StageKind::map; });
}

}  // namespace

TermCost kernel_cost(Movement movement) {
  return [movement, direct = operation_cost()](const Terms& terms, TermId id) {
    const Term& term = terms[id];
    if (terms.is(id, "Reshape")) return 1.0;
    if (is_index_map(terms.operation(term.operation))) {
      const double moved = movement == Movement::costs ? elements(term.facts.dims) / 4 : 0;
      return moved + 20;
    }
    if (!is_elementwise(*term.program)) return direct(terms, id);
    const ir::OperationCount count = ir::count_operations(*term.program);
    return count.arithmetic / 8 + 2 * count.transcendental + count.integer_arithmetic / 8 +
           elements(term.facts.dims) / 16 + 10;
  };
}

}  // namespace axrun::search::algebra
