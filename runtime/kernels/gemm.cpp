#include "runtime/kernels/gemm.h"

#include <algorithm>

#include "runtime/kernels/core_epilogue.h"
#include "runtime/kernels/isa/table.h"
#include "runtime/parallel.h"

namespace axrun::runtime {
namespace {

/// Multiply-adds that are worth a range of their own: some microseconds.
constexpr int64_t work_per_range = 250'000;
constexpr int64_t most_cells = 32;

double product(double a, double b, double c) { return a * b * c; }

GemmOperand describe(const float* data, const float* packed, int64_t rows, int64_t columns,
                     int64_t row_stride, int64_t column_stride) {
  if (packed != nullptr) return {packed, OperandForm::packed, 0, 0};
  // The stride along an extent of one means nothing: take the simplest form.
  if (columns == 1) column_stride = row_stride == 1 && rows > 1 ? column_stride : 1;
  if (rows == 1 && column_stride != 1) row_stride = 1;
  if (column_stride == 1) return {data, OperandForm::rows, row_stride, 1};
  if (row_stride == 1) return {data, OperandForm::columns, column_stride, 1};
  return {data, OperandForm::strided, row_stride, column_stride};
}

/// A batch whose products share B and whose rows follow each other is one taller product.
void fold_batch(GemmArguments& g) {
  while (g.batch_rank > 0) {
    const int last = g.batch_rank - 1;
    const int64_t extent = g.batch_extents[last];
    const bool folds =
        extent == 1 ||
        (g.b_batch_strides[last] == 0 && g.packed_a == nullptr && g.epilogue.row_factor == nullptr &&
         g.epilogue.row_bias == nullptr && g.a_batch_strides[last] == g.m * g.a_row_stride &&
         g.c_batch_strides[last] == g.m * g.c_row_stride &&
         (g.epilogue.residual == nullptr ||
          g.residual_batch_strides[last] == g.m * g.epilogue.residual_row_stride));
    if (!folds) return;
    g.m *= extent;
    --g.batch_rank;
  }
}

/// A product with one column is one with one row, seen transposed: then the result is contiguous along
/// vectors.
void transpose_column(GemmArguments& g) {
  const Epilogue& e = g.epilogue;
  if (g.n != 1 || g.m == 1 || g.c_row_stride != 1 || g.packed_a != nullptr || g.packed_b != nullptr) return;
  if (e.residual != nullptr && e.residual_row_stride != 1) return;
  std::swap(g.a, g.b);
  std::swap(g.m, g.n);
  std::swap(g.a_row_stride, g.b_column_stride);
  std::swap(g.a_column_stride, g.b_row_stride);
  std::swap(g.epilogue.row_factor, g.epilogue.column_factor);
  std::swap(g.epilogue.row_bias, g.epilogue.column_bias);
  for (int i = 0; i < g.batch_rank; ++i) std::swap(g.a_batch_strides[i], g.b_batch_strides[i]);
  g.c_row_stride = g.n;
  g.epilogue.residual_row_stride = g.n;
}

/// All of the product, or of each in the batch.
GemmCell whole_product(const GemmArguments& g) {
  GemmCell cell = {};
  cell.m = cell.m1 = g.m;
  cell.n1 = g.n;
  cell.k = g.k;
  cell.a = describe(g.a, g.packed_a, g.m, g.k, g.a_row_stride, g.a_column_stride);
  cell.b = describe(g.b, g.packed_b, g.k, g.n, g.b_row_stride, g.b_column_stride);
  cell.c = g.c;
  cell.c_row_stride = g.c_row_stride;
  cell.epilogue = to_core(g.epilogue);
  return cell;
}

/// How the result is cut into cells. Depends on the shape alone, so that results do not depend on the
/// threads.
struct GemmGrid {
  GemmArguments g;
  GemmCell cell;  ///< of the whole product
  int64_t batch = 1;
  int64_t cell_rows, cell_columns, row_cells, column_cells;

  explicit GemmGrid(const GemmArguments& arguments) : g(arguments) {
    fold_batch(g);
    transpose_column(g);
    for (int i = 0; i < g.batch_rank; ++i) batch *= g.batch_extents[i];
    const KernelTable& table = kernel_table();
    cell = whole_product(g);

    // Few rows are bound by memory, not arithmetic: they count as eight.
    const double work = product(std::max<double>(static_cast<double>(g.m), 8), static_cast<double>(g.n),
                                static_cast<double>(g.k));
    const auto wanted = static_cast<int64_t>(
        std::min<double>(work / static_cast<double>(work_per_range), static_cast<double>(most_cells)));
    cell_rows = std::max<int64_t>(g.m, 1);
    cell_columns = std::max<int64_t>(g.n, 1);
    row_cells = column_cells = 1;
    if (wanted <= 1 || batch >= wanted) return;
    const int64_t wanted_cells = divide_up(wanted, std::max<int64_t>(batch, 1));
    const int64_t panels = std::max<int64_t>(1, divide_up(g.n, table.panel_columns));
    const int64_t panel_rows = gemm_panel_rows(g.m, table.panel_rows);
    const int64_t row_panels = std::max<int64_t>(1, divide_up(g.m, panel_rows));
    // Narrow cells would read A too often, and flat ones copy B too often.
    const bool streams_rows = g.m == 1 && cell.b.form == OperandForm::rows;
    const int64_t least_panels = streams_rows ? 384 / table.panel_columns : row_panels <= 2 ? 1 : 4;
    const int64_t least_row_panels = cell.b.form == OperandForm::packed ? 4 : 10;
    const int64_t columns_wanted = std::clamp<int64_t>(panels / least_panels, 1, wanted_cells);
    cell_columns = divide_up(panels, columns_wanted) * table.panel_columns;
    column_cells = std::max<int64_t>(1, divide_up(g.n, cell_columns));
    const int64_t rows_wanted =
        std::clamp<int64_t>(row_panels / least_row_panels, 1, divide_up(wanted_cells, column_cells));
    cell_rows = divide_up(row_panels, rows_wanted) * panel_rows;
    row_cells = std::max<int64_t>(1, divide_up(g.m, cell_rows));
  }

  int64_t cells() const { return g.m == 0 || g.n == 0 ? 0 : batch * row_cells * column_cells; }

  GemmCell at(int64_t index) const {
    GemmCell result = cell;
    if (cells() == 1) return result;
    const int64_t column = index % column_cells;
    const int64_t row = index / column_cells % row_cells;
    int64_t rest = index / column_cells / row_cells;
    result.m0 = row * cell_rows;
    result.m1 = std::min(g.m, result.m0 + cell_rows);
    result.n0 = column * cell_columns;
    result.n1 = std::min(g.n, result.n0 + cell_columns);
    for (int i = g.batch_rank - 1; i >= 0; --i) {
      const int64_t position = rest % g.batch_extents[i];
      rest /= g.batch_extents[i];
      if (g.packed_a == nullptr) result.a.data += position * g.a_batch_strides[i];
      if (g.packed_b == nullptr) result.b.data += position * g.b_batch_strides[i];
      result.c += position * g.c_batch_strides[i];
      if (result.epilogue.residual != nullptr)
        result.epilogue.residual += position * g.residual_batch_strides[i];
    }
    return result;
  }

  /// Floats that the hungriest cell needs. Cells differ only at the right and lower edge.
  int64_t scratch_floats() const {
    int64_t most = 0;
    for (const int64_t row : {int64_t{0}, row_cells - 1}) {
      for (const int64_t column : {int64_t{0}, column_cells - 1}) {
        GemmCell edge = cell;
        edge.m0 = row * cell_rows;
        edge.m1 = std::min(g.m, edge.m0 + cell_rows);
        edge.n0 = column * cell_columns;
        edge.n1 = std::min(g.n, edge.n0 + cell_columns);
        most = std::max(most, kernel_table().gemm_scratch_floats(edge));
      }
    }
    return divide_up(most, 16) * 16;
  }
};

}  // namespace

size_t gemm_scratch_bytes(const GemmArguments& arguments, int threads) {
  const GemmGrid grid(arguments);
  const int64_t workers = std::clamp<int64_t>(grid.cells(), 0, std::max(threads, 1));
  return static_cast<size_t>(grid.scratch_floats() * workers) * sizeof(float);
}

void gemm(const GemmArguments& arguments, void* scratch, ThreadPool& pool) {
  const GemmGrid grid(arguments);
  const int64_t cells = grid.cells();
  if (cells == 0) return;
  const KernelTable& table = kernel_table();
  const int64_t floats = pool.threads() == 1 ? 0 : grid.scratch_floats();
  const double cell_work =
      product(static_cast<double>(std::min(grid.cell_rows, grid.g.m)),
              static_cast<double>(std::min(grid.cell_columns, grid.g.n)), static_cast<double>(grid.g.k));
  const auto grain = static_cast<int64_t>(static_cast<double>(work_per_range) / std::max(cell_work, 1.0)) + 1;
  pool.parallel_for_workers(cells, std::min(grain, cells), [&](int64_t worker, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      GemmCell cell = grid.at(i);
      cell.scratch = static_cast<float*>(scratch) + worker * floats;
      table.gemm_cell(cell);
    }
  });
}

void gemm_columns(const GemmArguments& arguments, int64_t first, int64_t last, void* scratch) {
  GemmCell cell = whole_product(arguments);
  cell.n0 = first;
  cell.n1 = last;
  cell.scratch = static_cast<float*>(scratch);
  kernel_table().gemm_cell(cell);
}

size_t gemm_columns_scratch_bytes(const GemmArguments& arguments) {
  const int64_t floats = kernel_table().gemm_scratch_floats(whole_product(arguments));
  return static_cast<size_t>(divide_up(floats, 16) * 16) * sizeof(float);
}

void gemm_alone(const GemmArguments& arguments, void* scratch) {
  GemmCell cell = whole_product(arguments);
  cell.scratch = static_cast<float*>(scratch);
  kernel_table().gemm_cell(cell);
}

size_t gemm_alone_scratch_bytes(int64_t n, int64_t k) {
  return static_cast<size_t>(divide_up(kernel_table().gemm_scratch_bound(n, k), 16) * 16) * sizeof(float);
}

int64_t gemm_panel_columns() { return kernel_table().panel_columns; }

size_t gemm_packed_b_bytes(int64_t k, int64_t n) {
  const int64_t columns = kernel_table().panel_columns;
  return static_cast<size_t>(divide_up(n, columns) * columns * k) * sizeof(float);
}

void gemm_pack_b(int64_t k, int64_t n, const float* b, int64_t row_stride, int64_t column_stride,
                 float* packed) {
  kernel_table().pack_b(k, n, b, row_stride, column_stride, packed);
}

size_t gemm_packed_a_bytes(int64_t m, int64_t k) {
  const int64_t rows = gemm_panel_rows(m, kernel_table().panel_rows);
  return static_cast<size_t>(divide_up(m, rows) * rows * k) * sizeof(float);
}

void gemm_pack_a(int64_t m, int64_t k, const float* a, int64_t row_stride, int64_t column_stride,
                 float* packed) {
  kernel_table().pack_a(m, k, a, row_stride, column_stride, packed);
}

}  // namespace axrun::runtime
