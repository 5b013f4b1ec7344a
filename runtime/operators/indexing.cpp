#include <fmt/format.h>

#include "ir/error.h"
#include "runtime/operators/indexing_parts.h"

namespace axrun::runtime {

void indexing_factories(std::vector<FactoryEntry>& table) {
  gather_factories(table);
  scatter_factories(table);
  selection_factories(table);
  generator_factories(table);
  reversal_factories(table);
  state_factories(table);
}

size_t axis_of(const StepContext& context, int64_t otherwise, int rank) {
  const int64_t axis = context.integer("axis", otherwise);
  return static_cast<size_t>(axis < 0 ? axis + rank : axis);
}

bool is_index(const StepContext& context, size_t k) {
  return context.has_input(k) &&
         (context.inputs[k].type == ir::ElementType::i64 || context.inputs[k].type == ir::ElementType::i32);
}

void fail_index(const std::string& place) {
  throw Error(Fault::user, fmt::format("{}: an index is out of range", place));
}

std::string place_of(const StepContext& context) {
  return fmt::format("{} '{}'", context.node.op, context.node.name);
}

bool has_extents(const StepContext& context) {
  return context.inputs[0].shape.size() <= Extents::most && context.inputs[1].shape.size() <= Extents::most;
}

bool is_movable(ir::ElementType type) {
  const size_t bytes = ir::size_of(type);
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

}  // namespace axrun::runtime
