#include "runtime/kernels/isa/gemm.h"

namespace axrun::runtime::AXRUN_ISA {
namespace {

/// Every decision about one cell, made before any work.
struct Plan {
  enum class Path { gemv_rows, gemv_columns, tiles } path;
  int64_t panel_rows;
  bool pack_a;     ///< A's panels are copied to scratch, block by block
  bool pack_b;     ///< B's blocks are copied to scratch; otherwise B is read where it lies, but for a ragged
                   ///< last panel
  bool pack_tail;  ///< that panel is copied
  int64_t block_k, block_n;
};

/// A panel of A (block_k x tile_rows) stays in the first cache level while a block of B (block_k x block_n)
/// streams past it from the second.
constexpr int64_t largest_block_k = 512;
constexpr int64_t block_b_floats = 96 * 1024;

Plan make_plan(const GemmCell& cell) {
  Plan plan = {};
  const int64_t rows = cell.m1 - cell.m0;
  const int64_t columns = cell.n1 - cell.n0;
  const bool a_rows = cell.a.form == OperandForm::rows;
  if (cell.b.form == OperandForm::rows && rows == 1 && cell.a.form != OperandForm::packed) {
    plan.path = Plan::Path::gemv_rows;
    return plan;
  }
  if (cell.b.form == OperandForm::columns && a_rows && (rows <= 8 || columns <= 4)) {
    plan.path = Plan::Path::gemv_columns;
    return plan;
  }
  plan.path = Plan::Path::tiles;
  plan.panel_rows = gemm_panel_rows(cell.a.form == OperandForm::packed ? cell.m : rows, tile_rows);
  // Rows a multiple of 4 KiB apart would evict each other from the first cache level.
  plan.pack_a = cell.a.form == OperandForm::strided ||
                (a_rows && rows > 4 && cell.a.stride % 1024 == 0 && columns >= 4 * tile_columns);
  const bool b_direct = cell.b.form == OperandForm::rows && rows <= 2 * tile_rows;
  plan.pack_b = cell.b.form != OperandForm::packed && !b_direct;
  plan.pack_tail = b_direct && columns % lanes != 0;
  plan.block_k = cell.k;
  plan.block_n = columns;
  if (rows > plan.panel_rows || plan.pack_b) {
    if (cell.k > largest_block_k) plan.block_k = divide_up(cell.k, divide_up(cell.k, largest_block_k));
    if (plan.block_k * columns > block_b_floats) {
      const int64_t fitting = block_b_floats / plan.block_k / tile_columns * tile_columns;
      plan.block_n = larger<int64_t>(fitting, tile_columns);
    }
  }
  return plan;
}

int64_t packed_b_floats(const Plan& plan) {
  return plan.pack_b      ? plan.block_k * round_up_to_tile(plan.block_n)
         : plan.pack_tail ? plan.block_k * tile_columns
                          : 0;
}

void copy_b(const GemmCell& cell, int64_t k0, int64_t k, int64_t n0, int64_t n, float* packed) {
  const GemmOperand& b = cell.b;
  if (b.form == OperandForm::rows) {
    pack_b(k, n, b.data + k0 * b.stride + n0, b.stride, 1, packed);
  } else if (b.form == OperandForm::columns) {
    pack_b(k, n, b.data + k0 + n0 * b.stride, 1, b.stride, packed);
  } else {
    pack_b(k, n, b.data + k0 * b.stride + n0 * b.column_stride, b.stride, b.column_stride, packed);
  }
}

void set_epilogue(const GemmCell& cell, Tile& tile) {
  const CoreEpilogue& e = cell.epilogue;
  tile.scale = e.scale;
  tile.residual_row_stride = e.residual_row_stride;
  tile.residual_scale = e.residual_scale;
  tile.activation = e.activation;
  tile.alpha = e.alpha;
  tile.beta = e.beta;
  tile.c_row_stride = cell.c_row_stride;
}

void run_tiles(const GemmCell& cell, const Plan& plan) {
  const CoreEpilogue& e = cell.epilogue;
  float* const b_scratch = cell.scratch;
  float* const a_scratch = cell.scratch + packed_b_floats(plan);
  Tile tile = {};
  set_epilogue(cell, tile);
  const GemmOperand& a = cell.a;
  const GemmOperand& b = cell.b;
  const AForm a_form = a.form == OperandForm::rows && !plan.pack_a ? AForm::rows : AForm::columns;
  for (int64_t n = cell.n0; n < cell.n1; n += plan.block_n) {
    const int64_t n_end = smaller(cell.n1, n + plan.block_n);
    // do-while: an empty sum still gets its epilogue.
    int64_t k = 0;
    do {
      const int64_t block_k = smaller(plan.block_k, cell.k - k);
      tile.k = block_k;
      tile.accumulate = k > 0;
      tile.finish = k + block_k == cell.k;
      const int64_t tail = plan.pack_tail ? n + (n_end - n) / tile_columns * tile_columns : n_end;
      if (plan.pack_b) copy_b(cell, k, block_k, n, n_end - n, b_scratch);
      if (tail < n_end) copy_b(cell, k, block_k, tail, n_end - tail, b_scratch);
      for (int64_t m = cell.m0; m < cell.m1; m += plan.panel_rows) {
        const int64_t rows = smaller(plan.panel_rows, cell.m1 - m);
        if (plan.pack_a) {
          const int64_t step = a.form == OperandForm::rows ? 1 : a.column_stride;
          pack_panel(a.data + m * a.stride + k * step, a.stride, step, rows, block_k, plan.panel_rows,
                     a_scratch);
          tile.a = a_scratch;
          tile.a_stride = plan.panel_rows;
        } else if (a.form == OperandForm::packed) {
          tile.a = a.data + m * cell.k + k * plan.panel_rows;
          tile.a_stride = plan.panel_rows;
          tile.a_ahead = packed_ahead;
        } else if (a.form == OperandForm::rows) {
          tile.a = a.data + m * a.stride + k;
          tile.a_stride = a.stride;
        } else {
          tile.a = a.data + m + k * a.stride;
          tile.a_stride = a.stride;
        }
        tile.row_factor = e.row_factor == nullptr ? nullptr : e.row_factor + m;
        tile.row_bias = e.row_bias == nullptr ? nullptr : e.row_bias + m;
        for (int64_t j = n; j < n_end; j += tile_columns) {
          tile.columns = smaller<int64_t>(tile_columns, n_end - j);
          if (plan.pack_b || j >= tail) {
            tile.b = b_scratch + (j - (plan.pack_b ? n : tail)) * block_k;
            tile.b_row_stride = tile_columns;
            tile.b_ahead = 8 * tile_columns;
          } else if (b.form == OperandForm::packed) {
            tile.b = b.data + j * cell.k + k * tile_columns;
            tile.b_row_stride = tile_columns;
            tile.b_ahead = 8 * tile_columns;
          } else {
            tile.b = b.data + k * b.stride + j;
            tile.b_row_stride = b.stride;
            tile.b_ahead = tile_columns;
          }
          tile.c = cell.c + m * cell.c_row_stride + j;
          tile.column_factor = e.column_factor == nullptr ? nullptr : e.column_factor + j;
          tile.column_bias = e.column_bias == nullptr ? nullptr : e.column_bias + j;
          tile.residual = e.residual == nullptr ? nullptr : e.residual + m * e.residual_row_stride + j;
          run_tile(a_form, BForm::stride, rows, tile);
        }
      }
      k += block_k;
    } while (k < cell.k);
  }
}

}  // namespace

int64_t gemm_scratch_floats(const GemmCell& cell) {
  const Plan plan = make_plan(cell);
  if (plan.path != Plan::Path::tiles) return 0;
  return packed_b_floats(plan) + (plan.pack_a ? plan.block_k * plan.panel_rows : 0);
}

int64_t gemm_scratch_bound(int64_t n, int64_t k) {
  // A block of B rounded up to whole panels, or its last panel over all of k; and a panel of A.
  const int64_t block = smaller(block_b_floats + largest_block_k * tile_columns,
                                smaller(k, largest_block_k) * round_up_to_tile(n));
  return larger(block, k * tile_columns) + k * tile_rows;
}

void gemm_cell(const GemmCell& cell) {
  if (cell.m0 >= cell.m1 || cell.n0 >= cell.n1) return;
  const Plan plan = make_plan(cell);
  switch (plan.path) {
    case Plan::Path::gemv_rows:
      return gemv_rows(cell);
    case Plan::Path::gemv_columns:
      return gemv_columns(cell);
    case Plan::Path::tiles:
      return run_tiles(cell, plan);
  }
}

}  // namespace axrun::runtime::AXRUN_ISA
