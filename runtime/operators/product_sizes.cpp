#include "runtime/operators/product_sizes.h"

#include <algorithm>
#include <utility>

namespace axrun::runtime {
namespace {

/// Matrices that lie one after another, row by row.
MatrixStrides dense(const Extents& shape, bool transposed) {
  MatrixStrides strides;
  strides.rank = shape.size() - 2;
  int64_t stride = shape[strides.rank] * shape.back();
  for (size_t d = strides.rank; d-- > 0; stride *= shape[d]) {
    strides.first[d] = d;
    strides.axes[d] = {shape[d], stride};
  }
  strides.first[strides.rank] = strides.rank;
  strides.rows = {shape[strides.rank], shape.back()};
  strides.columns = {shape.back(), 1};
  if (transposed) std::swap(strides.rows, strides.columns);
  return strides;
}

int64_t batch_extent(const MatrixStrides& matrices, size_t dim) {
  int64_t extent = 1;
  for (size_t k = matrices.first[dim]; k < matrices.first[dim + 1]; ++k) extent *= matrices.axes[k].extent;
  return extent;
}

/// An axis of the batch's grid: its extent, and strides.
struct BatchAxis {
  int64_t extent, a, b, c;
};
using BatchGrid = std::array<BatchAxis, MatrixStrides::most_axes>;  ///< innermost first

/// Rows of A are folded into M where B is shared. False: there are too many axes.
bool set_grid(GemmArguments& g, BatchGrid& grid, size_t axes) {
  size_t folded = 0;
  // A run of inner batch dims over which B does not change is more rows of A.
  while (folded < axes && grid[folded].b == 0 && g.a_column_stride == 1 &&
         grid[folded].a == g.m * g.a_row_stride && g.c_row_stride * g.m == grid[folded].c)
    g.m *= grid[folded++].extent;
  size_t merged = 0;
  for (size_t k = folded; k < axes; ++k) {
    BatchAxis* const inner = merged > 0 ? &grid[merged - 1] : nullptr;
    const BatchAxis dim = grid[k];
    if (inner != nullptr && dim.a == inner->a * inner->extent && dim.b == inner->b * inner->extent &&
        dim.c == inner->c * inner->extent) {
      inner->extent *= dim.extent;
    } else {
      grid[merged++] = dim;
    }
  }
  if (merged > max_batch_rank) return false;
  g.batch_rank = static_cast<int>(merged);
  for (size_t i = 0; i < merged; ++i) {
    const BatchAxis& dim = grid[merged - 1 - i];
    g.batch_extents[i] = dim.extent;
    g.a_batch_strides[i] = dim.a;
    g.b_batch_strides[i] = dim.b;
    g.c_batch_strides[i] = dim.c;
    g.residual_batch_strides[i] = dim.c;
  }
  return true;
}

}  // namespace

Extents extents_of(const ir::Shape& shape) {
  Extents extents;
  for (const int64_t extent : shape) extents.push_back(extent);
  return extents;
}

bool set_product(GemmArguments& g, bool transpose_a, const Extents& a, const MatrixStrides& b) {
  if (a.size() < 2 || a.size() + 2 > Extents::most) return false;
  const MatrixStrides own = dense(a, transpose_a);
  g.m = own.rows.extent;
  g.k = own.columns.extent;
  g.n = b.columns.extent;
  if (b.rows.extent != g.k) return false;
  g.a_row_stride = own.rows.stride;
  g.a_column_stride = own.columns.stride;
  g.b_row_stride = b.rows.stride;
  g.b_column_stride = b.columns.stride;
  g.c_row_stride = g.n;
  BatchGrid grid;
  size_t axes = 0;
  int64_t c_stride = g.m * g.n;
  for (size_t back = 1; back <= std::max(own.rank, b.rank); ++back) {
    const int64_t a_extent = back <= own.rank ? own.axes[own.rank - back].extent : 1;
    const int64_t a_stride = a_extent == 1 ? 0 : own.axes[own.rank - back].stride;
    const int64_t b_extent = back <= b.rank ? batch_extent(b, b.rank - back) : 1;
    const int64_t extent = a_extent == 1 ? b_extent : a_extent;
    if (b_extent != 1 && b_extent != extent) return false;
    if (b_extent == 1) {
      if (extent != 1) grid[axes++] = {extent, a_stride, 0, c_stride};
    } else {
      int64_t inner = 1;
      for (size_t k = b.first[b.rank - back + 1]; k-- > b.first[b.rank - back];) {
        const MatrixStrides::Axis& axis = b.axes[k];
        if (axis.extent != 1) grid[axes++] = {axis.extent, a_stride * inner, axis.stride, c_stride * inner};
        inner *= axis.extent;
      }
    }
    c_stride *= extent;
  }
  return set_grid(g, grid, axes);
}

bool set_product(GemmArguments& g, const MatmulForm& form, Extents a, Extents b) {
  if (a.empty() || b.empty() || a.size() + 2 > Extents::most || b.size() + 2 > Extents::most) return false;
  if (a.size() == 1) a.insert(0, 1);
  if (b.size() == 1) b.push_back(1);
  return set_product(g, form.transpose_a, a, dense(b, form.transpose_b));
}

}  // namespace axrun::runtime
