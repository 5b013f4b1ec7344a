#include "search/prepared_parts.h"

#include <algorithm>

#include "search/scalar_cost.h"

namespace axrun::search {

using ir::Dim;
using ir::Dims;
using ir::ExprId;
using ir::loop::Access;
using ir::loop::Combine;
using ir::loop::Level;
using ir::loop::LoopKind;

namespace {

bool is_prepared(const PieceContext& context, ExprId id) {
  const ir::Program& program = context.program;
  if (program.exprs[static_cast<size_t>(id)].type != ir::ElementType::f32) return false;
  constexpr double costly = 1;
  if (scalar_cost(program, id) < costly || axes_of(program, id).size() > 1) return false;
  const std::vector<ExprId> loads = loads_of(program, id);
  // Where all is constant, so is what the reduction gives, which is not there yet.
  return !loads.empty() && std::all_of(loads.begin(), loads.end(), [&](ExprId load) {
    const auto tensor = static_cast<ir::TensorId>(program.exprs[static_cast<size_t>(load)].integer);
    return context.constant[static_cast<size_t>(tensor)] && context.values.is_placed(tensor);
  });
}

/// The largest ones, each once.
void find_parts(const PieceContext& context, ExprId id, std::vector<ExprId>& found) {
  if (std::find(found.begin(), found.end(), id) != found.end()) return;
  if (is_prepared(context, id)) return found.push_back(id);
  for (const ExprId argument : context.program.exprs[static_cast<size_t>(id)].args) {
    if (argument != ir::none) find_parts(context, argument, found);
  }
}

}  // namespace

void prepare_parts(PieceContext& context, const ir::Stage& map, const std::function<const Dims&()>& point) {
  LoopWriter& w = context.writer;
  std::vector<ExprId> parts;
  find_parts(context, map.body[0], parts);
  for (const ExprId id : parts) {
    const std::set<int> axes = axes_of(context.program, id);
    const size_t axis = axes.empty() ? 0 : static_cast<size_t>(*axes.begin());
    const Dim extent = axes.empty() ? Dim(1) : map.axes[axis].extent;
    int buffer = ir::none;
    w.at_beginning([&] {
      buffer = w.allocate("prepared_" + map.name, ir::ElementType::f32, {extent}, Level::memory);
      w.loop(LoopKind::vector, "i0", extent, [&](const Dim& i0) {
        Dims here(map.axes.size(), Dim(0));
        if (!axes.empty()) here[axis] = i0;
        w.store({buffer, {i0}}, Combine::assign, context.values.value(id, here));
      });
    });
    const bool single = axes.empty();
    context.values.take_value(id, [buffer, axis, single, point] {
      return Access{buffer, {single ? Dim(0) : point()[axis]}};
    });
  }
}

}  // namespace axrun::search
