#include "search/turned_product.h"

#include <algorithm>
#include <utility>

#include "search/line_conflicts.h"
#include "search/register_tile.h"
#include "search/work.h"

namespace axrun::search {
namespace {

/// Sizes of one product of matrices.
struct ProductShape {
  int64_t rows = 1, columns = 1, depth = 1;
};

/// Lanes computed for each that is wanted.
double padding(int64_t count, int64_t lanes) {
  return static_cast<double>((count + lanes - 1) / lanes * lanes) / static_cast<double>(count);
}

/// About how many cycles of one core a product takes that is computed from the other side.
double cycles_turned(const ProductShape& shape, const jit::Target& target) {
  constexpr double turned_cycles = 11;  // for a vector of results
  // A step reads a line of its own, which the next tiles read, too: from the second cache where such lines
  // get into each other's way.
  constexpr double far_step_cycles = 8;
  const int64_t lanes = target.lanes(4);
  const RegisterTile tile = register_tile(shape.columns, shape.rows, target, true, lanes);
  const int64_t tiles =
      ((shape.columns + tile.rows - 1) / tile.rows) * ((shape.rows + tile.columns - 1) / tile.columns);
  const double far_cycles = lines_conflict(shape.depth, shape.columns * 4, target)
                                ? far_step_cycles * static_cast<double>(tiles)
                                : 0;
  return std::max(tile.cycles, far_cycles) * static_cast<double>(shape.depth) +
         turned_cycles * static_cast<double>(shape.rows * shape.columns) / static_cast<double>(lanes);
}

/// Whether turned tiles take less time: they read the right side where it lies, which many rows else have
/// packed for every product, but their results pass through the cache. Cycles as measured for many
/// convolutions.
bool is_faster_turned(const ProductShape& shape, const jit::Target& target) {
  // For a vector that is packed. Prefetchers lose rows that are shorter than a page.
  constexpr double near_cycles = 4, far_cycles = 14;
  constexpr int64_t page = 4096;
  constexpr int64_t least_tiles = 4;  // of rows, that read what is packed
  // For a vector of results.
  constexpr double aligned_cycles = 3, unaligned_cycles = 5;
  constexpr double good_enough = 1.05;
  const int64_t lanes = target.lanes(4);
  const int64_t second = second_cache(target);
  const auto depth = static_cast<double>(shape.depth);
  const auto vectors_of = [&](int64_t count) {
    return static_cast<double>(count) * static_cast<double>(shape.columns) / static_cast<double>(lanes);
  };
  const RegisterTile tile = register_tile(shape.rows, shape.columns, target, true);
  const bool packed = shape.depth >= steps_worth_packing && shape.rows > (least_tiles - 1) * tile.rows;
  const bool near = shape.columns * 4 >= page || shape.depth * shape.columns * 4 <= second / 4;
  const double store_cycles = shape.columns % lanes == 0 ? aligned_cycles : unaligned_cycles;
  const double straight = tile.cycles * depth + store_cycles * vectors_of(shape.rows) +
                          (packed ? (near ? near_cycles : far_cycles) * vectors_of(shape.depth) : 0);
  return cycles_turned(shape, target) < good_enough * straight;
}

bool has_two_sides(const ProductForm& form) {
  return form.left_constant && !form.right_constant && form.row != ir::none;
}

bool may_be_turned(const ProductShape& shape, int64_t lanes) {
  return shape.columns >= 2 && shape.rows >= lanes;
}

ProductShape shape_of(const PieceContext& context, const ProductForm& form) {
  const auto extent = [&](int axis) {
    return context.facts.typical(form.sum->axes[static_cast<size_t>(axis)].extent);
  };
  ProductShape shape{extent(form.row), extent(form.column)};
  for (const ir::Axis& axis : form.sum->reduce_axes) shape.depth *= context.facts.typical(axis.extent);
  return shape;
}

ProductForm swapped(const ProductForm& form) {
  ProductForm other = form;
  std::swap(other.left, other.right);
  std::swap(other.left_constant, other.right_constant);
  std::swap(other.row, other.column);
  other.across = true;
  return other;
}

}  // namespace

ProductForm turned(const PieceContext& context, const ProductForm& form) {
  if (!has_two_sides(form)) return form;
  const ProductShape shape = shape_of(context, form);
  const int64_t lanes = context.target.lanes(4);
  constexpr double worth = 1.15;
  if (!may_be_turned(shape, lanes)) return form;
  const bool fills_better = padding(shape.columns, lanes) >= worth * padding(shape.rows, lanes);
  const bool faster =
      columns_are_contiguous(context.program, form) && is_faster_turned(shape, context.target);
  return fills_better || faster ? swapped(form) : form;
}

std::optional<ProductForm> seen_from_other_side(const PieceContext& context, const ProductForm& form) {
  if (!has_two_sides(form) || !may_be_turned(shape_of(context, form), context.target.lanes(4)))
    return std::nullopt;
  return turned(context, form).across ? form : swapped(form);
}

}  // namespace axrun::search
