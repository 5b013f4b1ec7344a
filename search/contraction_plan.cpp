#include "search/contraction_plan.h"

#include <algorithm>
#include <limits>

#include "search/epilogue.h"
#include "search/line_conflicts.h"
#include "search/stage_values.h"
#include "search/transposition.h"
#include "search/turned_product.h"
#include "search/work.h"

namespace axrun::search {

using ir::Dim;
using ir::Expr;
using ir::ExprId;
using ir::Program;

namespace {

constexpr int64_t steps_side_by_side = 4, most_rows_side_by_side = 2;

/// Prefetchers follow each load of the loop by its step: longer ones reach the next page too soon (a vector
/// times a matrix from the second cache took 1.4 times as long with steps of 2 KiB).
int64_t unrolling(const RegisterTile& tile) {
  constexpr int64_t longest_step_bytes = 1024, most_unrolled = 4;
  return std::clamp<int64_t>(longest_step_bytes / (tile.columns * 4), 1, most_unrolled);
}

/// Equal parts of k, a multiple of the unrolling, whose slice of a panel takes a quarter of the second cache
/// at most. 0 where that is all of k, or hardly less, and where few rows would profit. Sums of rows that only
/// a run counts wait in blocks, and what is left of these reads the panels again: not without need.
int64_t depth_block(int64_t depth, const ContractionPlan& plan, int64_t row_tiles, bool open_rows,
                    int64_t second_cache) {
  constexpr int64_t least = 64, worth = 4;
  const int64_t most = open_rows ? depth : 1024;
  const int64_t limit = std::max(least, std::min(second_cache / 4 / (plan.tile.columns * 4), most));
  if (depth < limit + limit / 2 || row_tiles < worth) return 0;
  const int64_t parts = (depth + limit - 1) / limit;
  const int64_t steps = (depth + parts - 1) / parts;
  return (steps + plan.unroll - 1) / plan.unroll * plan.unroll;
}

/// The number of fewer bits which the right side is, as an f32: a constant that comes from memory in less
/// time where few rows are computed with it. With many rows every one would wait for the same conversion.
ExprId narrow_right(const Program& program, const ProductForm& form, int64_t rows) {
  constexpr int64_t most_rows = 16;
  if (!form.right_constant || form.right.size() != 1 || rows > most_rows) return ir::none;
  const auto expr = [&](ExprId id) -> const Expr& { return program.exprs[static_cast<size_t>(id)]; };
  const Expr& wide = expr(form.right[0]);
  if (wide.op != ir::ScalarOp::cast || wide.type != ir::ElementType::f32) return ir::none;
  const Expr& inner = expr(wide.args[0]);
  const bool is_float = inner.type == ir::ElementType::f16 || inner.type == ir::ElementType::bf16;
  const bool is_byte = ir::is_integer(inner.type) && ir::bits_of(inner.type) == 8;
  return inner.op == ir::ScalarOp::load && (is_float || is_byte) ? wide.args[0] : ir::none;
}

/// Where rows of a panel that are so much longer hold less than one for each step along the last axis of the
/// sum.
int64_t shift_of_panels(const Program& program, const ProductForm& form, const RegisterTile& tile) {
  const Dim& steps = form.sum->reduce_axes.back().extent;
  if (!steps.is_constant() || steps.value() < 2) return 0;
  const int64_t shift = shift_of_terms(program, form);
  return shift * (steps.value() - 1) < tile.columns ? shift : 0;
}

/// Bytes between the elements of the right side that one column reads one after another; 0 where it is not a
/// whole f32 matrix whose rows are the columns side by side.
int64_t stride_of_steps(const Program& program, const ProductForm& form) {
  if (form.right.size() != 1 || form.column == ir::none) return 0;
  const Expr& load = program.exprs[static_cast<size_t>(form.right[0])];
  if (load.op != ir::ScalarOp::load || load.type != ir::ElementType::f32) return 0;
  const ir::Dims& dims = program.tensors[static_cast<size_t>(load.integer)].dims;
  if (dims.empty() || !dims.back().is_constant()) return 0;
  if (dims.back() != form.sum->axes[static_cast<size_t>(form.column)].extent) return 0;
  return dims.back().value() * 4;
}

/// Whether panels are read once from beyond the second cache, in parts that may be read side by side.
bool is_read_from_far(const PieceContext& context, const ContractionPlan& plan) {
  const ir::Stage& sum = *plan.form.sum;
  const SizeFacts& facts = context.facts;
  const auto extent = [&](int axis) {
    return axis == ir::none ? int64_t{1} : facts.typical(sum.axes[static_cast<size_t>(axis)].extent);
  };
  const Dim& depth = sum.reduce_axes.back().extent;
  if (plan.right != ContractionPlan::Right::packed_once || plan.depth_block != 0 || plan.row_block != 0 ||
      sum.reduce_axes.size() != 1 || !depth.is_constant() || depth.value() % steps_side_by_side != 0 ||
      extent(plan.form.row) > std::min(plan.tile.rows, most_rows_side_by_side))
    return false;
  const int64_t bits = plan.narrow == ir::none
                           ? 32
                           : ir::bits_of(context.program.exprs[static_cast<size_t>(plan.narrow)].type);
  return depth.value() * extent(plan.form.column) * bits / 8 > second_cache(context.target);
}

}  // namespace

std::optional<ContractionPlan> read_otherwise(const PieceContext& context, const ContractionPlan& plan) {
  if (!is_read_from_far(context, plan)) return std::nullopt;
  ContractionPlan other = plan;
  other.side_by_side = !plan.side_by_side;
  other.unroll = other.side_by_side ? steps_side_by_side : unrolling(plan.tile);
  return other;
}

ContractionPlan plan_contraction(const PieceContext& context, const ProductForm& given) {
  return plan_from_this_side(context, turned(context, given));
}

ContractionPlan plan_from_this_side(const PieceContext& context, const ProductForm& given) {
  const Program& program = context.program;
  const SizeFacts& facts = context.facts;
  const jit::Target& target = context.target;
  ContractionPlan plan;
  plan.form = given;
  const ProductForm& form = plan.form;
  const ir::Stage& sum = *form.sum;
  const auto extent = [&](int axis) {
    return axis == ir::none ? int64_t{1} : facts.typical(sum.axes[static_cast<size_t>(axis)].extent);
  };
  const int64_t rows = extent(form.row), columns = extent(form.column);
  int64_t depth = 1, outer = 1;
  for (const ir::Axis& axis : sum.reduce_axes) depth *= facts.typical(axis.extent);
  for (const int axis : form.outer) outer *= extent(axis);

  plan.left_packed = form.left_constant && form.row != ir::none;
  // Tiles that are turned are squares at most.
  const int64_t highest = form.across ? target.lanes(4) : std::numeric_limits<int64_t>::max();
  plan.tile = register_tile(rows, columns, target, plan.left_packed || form.across, highest);
  plan.unroll = unrolling(plan.tile);
  const int64_t row_tiles = (rows + plan.tile.rows - 1) / plan.tile.rows;
  const int64_t column_tiles = (columns + plan.tile.columns - 1) / plan.tile.columns;

  using Right = ContractionPlan::Right;
  // Tiles of rows that read a panel.
  constexpr int64_t worth_packing = 4;
  // What it costs to move a panel comes back over so many tiles of rows: four took 12% longer, eleven 5%
  // less.
  constexpr int64_t worth_uncrowding = 8;
  const bool crowded = row_tiles >= worth_uncrowding &&
                       rows_conflict(depth, plan.tile.columns * 4, stride_of_steps(program, form), target);
  if (form.right_constant) {
    plan.right = Right::packed_once;
  } else if ((row_tiles >= worth_packing &&
              (!form.left_constant || depth >= steps_worth_packing || crowded)) ||
             !columns_are_contiguous(program, form)) {
    plan.right = Right::packed_inside;
  }

  if (plan.right == Right::packed_inside) plan.shift = shift_of_panels(program, form, plan.tile);
  plan.guarded = plan.right != Right::direct && columns_are_guarded(program, form);
  if (plan.right == Right::packed_once) plan.narrow = narrow_right(program, form, rows);

  const int last_reduce = static_cast<int>(sum.axes.size() + sum.reduce_axes.size()) - 1;
  const bool across = is_read_across(program, form.right, form.column, last_reduce);
  // Squares are of f32.
  if (plan.right != Right::direct && plan.narrow == ir::none && across &&
      sum.reduce_axes.back().extent != Dim(1))
    plan.square = target.lanes(4);

  const int64_t second = second_cache(target);
  const bool open_rows =
      form.row != ir::none && !sum.axes[static_cast<size_t>(form.row)].extent.is_constant();
  plan.depth_block =
      depth_block(facts.typical(sum.reduce_axes.back().extent), plan, row_tiles, open_rows, second);
  const int64_t reach = plan.depth_block == 0 ? depth : plan.depth_block;
  const int64_t row_bytes = plan.tile.rows * reach * 4;
  // A left side that lies in order comes from farther caches in time; panels would be made for every block.
  const bool repacked = plan.right == Right::packed_inside && plan.left_packed;
  if (row_bytes * row_tiles > second / 2 && !repacked) {
    plan.row_block = std::max<int64_t>(1, second / 2 / std::max<int64_t>(1, row_bytes));
  }
  if (plan.depth_block != 0) {
    // The sums that wait take a quarter of the cache at most, also where there are more rows than expected.
    const int64_t most = std::max<int64_t>(1, second / 4 / (plan.tile.rows * plan.tile.columns * 4));
    if (row_tiles > most || open_rows)
      plan.row_block = plan.row_block == 0 ? most : std::min(plan.row_block, most);
  }

  // Zen 4 and 5 read one sequence as fast as several when code fetches ahead. Zen 3 does not: vectors times
  // matrices of 2 to 128 MiB take 1.1 to 1.6 times as long there as side by side, two rows 1.5, four 0.8.
  if (target.vector_bytes < 64) plan = read_otherwise(context, plan).value_or(plan);

  const bool long_map = form.epilogue != nullptr && is_long(program, *form.epilogue);
  plan.copied = plan.depth_block == 0 && (long_map || form.across);

  using Spread = ContractionPlan::Spread;
  const double flops = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) *
                       static_cast<double>(depth) * static_cast<double>(outer);
  if (!is_worth_spreading(flops, target)) return plan;
  const int64_t first_outer = form.outer.empty() ? 1 : extent(form.outer[0]);
  const int64_t blocks = plan.row_block == 0 ? 1 : (row_tiles + plan.row_block - 1) / plan.row_block;
  plan.spread = Spread::columns;
  double best = balance_of_pieces(columns, plan.tile.columns, target.cores);
  if (blocks > 1) {
    const int64_t even = even_piece(row_tiles, plan.row_block, target.cores);
    const double by_rows = balance_of_pieces(row_tiles, even, target.cores);
    if (by_rows >= best) {
      plan.spread = Spread::rows;
      plan.row_block = even;
      best = by_rows;
    }
  }
  constexpr double good = 0.8, rather_good = 0.9, gain = 0.05;
  if (first_outer > 1) {
    const Dim& extent_of_first = sum.axes[static_cast<size_t>(form.outer[0])].extent;
    if (balance_of_axis(facts, extent_of_first, 1, target.cores) >= std::min(best, good))
      plan.spread = Spread::outer;
  }
  if (best < rather_good && plan.spread == Spread::columns) {
    // Every block packs what is packed inside: one for each core. Otherwise a few, as cores may be held up.
    const int blocks_of_core = plan.right == Right::packed_inside ? 1 : 2;
    const int64_t few = (row_tiles + target.cores * blocks_of_core - 1) / (target.cores * blocks_of_core);
    const int64_t even = even_piece(row_tiles, few, target.cores);
    if (balance_of_pieces(row_tiles, even, target.cores) > best + gain) {
      plan.spread = Spread::rows;
      plan.row_block = even;
    }
  }
  if (plan.spread == Spread::columns && blocks > 1) {
    constexpr int64_t turns = 4;  // groups for each worker
    plan.column_group = std::max<int64_t>(1, column_tiles / (turns * target.cores));
  }
  return plan;
}

}  // namespace axrun::search
