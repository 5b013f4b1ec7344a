#include <algorithm>
#include <cmath>

#include "search/planes.h"
#include "search/stage_values.h"

namespace axrun::search {

std::optional<PlanesPlan> plan_planes(const PieceContext& context, const WindowsForm& form) {
  std::optional<PlanesForm> found = planes_of(context.program, form, context.constant);
  if (!found) return std::nullopt;
  PlanesPlan plan;
  plan.form = std::move(*found);
  const int64_t lanes = context.target.lanes(4);
  const WindowMove &row = plan.form.row, &column = plan.form.column;
  if (column.extent > lanes || column.length > lanes) return std::nullopt;
  plan.read_rows = std::min(row.extent, lanes / column.extent);
  plan.rows = std::min(row.length, lanes / column.length);

  // Everything but the reading of planes is written out.
  constexpr int64_t most_steps = 1024, most_parts = 8;
  const int64_t steps = row.total() * column.total();
  const int64_t parts_read = (row.extent + plan.read_rows - 1) / plan.read_rows;
  const int64_t parts = (row.length + plan.rows - 1) / plan.rows;
  if (steps > most_steps || parts > most_parts) return std::nullopt;
  constexpr double start = 20, transposition = 48;
  const double block = static_cast<double>(steps) / std::max(1, context.target.fma_ports) +
                       transposition * static_cast<double>(parts_read + parts) + start;
  const auto planes = static_cast<double>(
      context.facts.typical(form.reduction->axes[static_cast<size_t>(plan.form.plane)].extent));
  const double blocks = std::ceil(planes / static_cast<double>(lanes));
  plan.cycles = block * blocks / planes;

  if (form.epilogue != nullptr) {
    // Registers turn around what is as wide as the sums.
    const auto type_of = [&](const ir::Stage& stage) {
      return context.program.tensors[static_cast<size_t>(stage.results[0])].type;
    };
    plan.finished_across = type_of(*form.epilogue) == type_of(*form.reduction);
    for (const ir::ExprId load : loads_of(context.program, form.epilogue->body[0])) {
      const ir::Expr& expr = context.program.exprs[static_cast<size_t>(load)];
      if (static_cast<ir::TensorId>(expr.integer) == form.reduction->results[0]) continue;
      for (const int axis : axes_of(context.program, load)) {
        const int own = form.epilogue_axes[static_cast<size_t>(axis)];
        if (own == row.axis || own == column.axis) plan.finished_across = false;
      }
    }
  }
  return plan;
}

}  // namespace axrun::search
